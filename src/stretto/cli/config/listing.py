"""`stretto config list`: every figure that may be changed, as it holds now."""

from collections.abc import Mapping
from typing import Annotated

import msgspec
import typer
from rich.text import Text

from stretto.cli.config.changing import LEAST_REASON
from stretto.cli.exits import Exit
from stretto.cli.help import VerbCommand
from stretto.cli.options import DEFAULT_WORKFLOW, AsJson, StorePath, WorkflowFile
from stretto.cli.rows import Row, labelled, one_piece
from stretto.cli.terminal import note, print_json, results, show, stdout_for_results_only
from stretto.cli.words import escaped, time_text
from stretto.runtime.load import load, store_path
from stretto.runtime.tuning import Effective, Origin
from stretto.store.sqlite import Store
from stretto.types.json import Json

app = typer.Typer(add_completion=False)


@app.command(cls=VerbCommand)
def list_settings(
    file: WorkflowFile = DEFAULT_WORKFLOW,
    changed: Annotated[bool, typer.Option("--changed", help="Only what was changed.")] = False,
    store: StorePath = None,
    as_json: AsJson = False,
) -> int:
    """List every figure that can be changed while it runs: its value, where that comes from, and who changed it."""
    with Store(store_path(store)) as kept, stdout_for_results_only():
        workflow = load(file, store=kept)
        found = workflow.settings
    shown = {key: each for key, each in found.items() if not changed or _is_changed(each)}
    if as_json:
        print_json({"workflow": workflow.name, "settings": _document(shown), "store": str(kept.path)})
    elif shown:
        show(labelled([_row(each) for each in shown.values()], results().width, prose=LEAST_REASON))
    else:
        note(f"nothing of workflow '{workflow.name}' was changed" if changed else "nothing of it can be changed")
    return Exit.OK


def _is_changed(each: Effective) -> bool:
    return each.origin is Origin.SETTING or bool(each.passed_over)


def _document(found: Mapping[str, Effective]) -> Json:
    listed: list[Json] = [msgspec.to_builtins(each) for each in found.values()]
    return listed


def _row(each: Effective) -> Row:
    style = {Origin.SETTING: "bold yellow", Origin.FILE: "", Origin.DEFAULT: "dim"}[each.origin]
    value = Text(each.unsaid or "none" if each.value is None else escaped(str(each.value)), style)
    return Text(escaped(each.key), "dim" if each.origin is Origin.DEFAULT else "bold"), (value, *_why(each))


def _why(each: Effective) -> tuple[Text, Text, Text]:
    """Where it comes from, when that was said, and by whom and why."""
    setting = each.setting
    if setting is None or not _is_changed(each):
        return Text(each.origin.value, "dim"), Text(), Text()
    said = f"by {escaped(setting.by)}" + (f": {escaped(setting.reason)}" if setting.reason else "")
    if each.passed_over:
        said += f"; {escaped(str(setting.value))} is passed over: {escaped(each.passed_over)}"
    return Text(f"revision {setting.revision}"), one_piece(time_text(setting.at_ns), "dim"), Text(said)
