"""`stretto config history`: every change, who made it, when and why."""

from typing import Annotated

import msgspec
import typer
from rich.text import Text

from stretto.cli.config.changing import LEAST_REASON
from stretto.cli.exits import Exit
from stretto.cli.help import VerbCommand
from stretto.cli.options import DEFAULT_WORKFLOW, AsJson, StorePath, WorkflowFile
from stretto.cli.rows import Row, labelled
from stretto.cli.terminal import note, print_json, results, show
from stretto.cli.words import escaped, time_text
from stretto.runtime.load import store_path
from stretto.spec.workflow import load_workflow
from stretto.store.sqlite import Store
from stretto.types.json import Json
from stretto.types.setting import Setting

app = typer.Typer(add_completion=False)


@app.command(cls=VerbCommand)
def show_history(
    file: WorkflowFile = DEFAULT_WORKFLOW,
    key: Annotated[str | None, typer.Option("--key", metavar="KEY", help="Only of this one.")] = None,
    store: StorePath = None,
    as_json: AsJson = False,
) -> int:
    """List every change of a workflow's figures, oldest first; nothing is ever removed from it."""
    name = load_workflow(file).name
    with Store(store_path(store)) as kept:
        changes = kept.settings_history(name, key)
    if as_json:
        listed: list[Json] = [msgspec.to_builtins(each) for each in changes]
        print_json({"workflow": name, "changes": listed, "store": str(kept.path)})
    elif changes:
        digits = len(str(changes[-1].revision))
        show(labelled([_row(each, digits) for each in changes], results().width, prose=LEAST_REASON))
    else:
        what = "nothing" if key is None else f"nothing named '{key}'"
        note(f"{what} of workflow '{name}' was changed")
    return Exit.OK


def _row(each: Setting, digits: int) -> Row:
    value = Text("taken back", "dim") if each.value is None else Text(escaped(str(each.value)), "bold")
    when = Text(f"{each.revision:<{digits}}  {time_text(each.at_ns)}", "dim")
    return when, (Text(escaped(each.key)), value, Text(_by(each)))


def _by(each: Setting) -> str:
    return f"by {escaped(each.by)}" + (f": {escaped(each.reason)}" if each.reason else "")
