"""A change of one setting, as it is typed and as it is told."""

import asyncio
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer

from stretto.cli.exits import Exit
from stretto.cli.terminal import print_json, show, stdout_for_results_only
from stretto.cli.who import who
from stretto.runtime.load import load, store_path
from stretto.runtime.tuning import Effective
from stretto.store.sqlite import Store
from stretto.types.setting import Setting, SettingValue

LEAST_REASON: Final = 30
"""Columns that who changed a figure, and why, is told in at least: in fewer it reads as a tower of words."""

File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="The workflow file; always named here, since KEY follows it.", show_default=False
    ),
]
Key = Annotated[
    str,
    typer.Argument(metavar="KEY", help="Which, as `stretto config list FILE` names it.", show_default=False),
]
By = Annotated[
    str | None,
    typer.Option("--by", metavar="NAME", help="Who changes it; your user name, when not given.", show_default=False),
]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; kept with your name and the time.")]


def change(
    file: Path, key: str, value: SettingValue, by: str | None, reason: str, store: Path | None, *, as_json: bool
) -> int:
    """Make the change and say what holds from now on."""
    with Store(store_path(store)) as kept, stdout_for_results_only():  # a component file may print when imported
        workflow = load(file, store=kept)
        setting = asyncio.run(workflow.set(key, value, by=by or who(), reason=reason))
        now = workflow.settings.get(key)
    if as_json:
        print_json({"setting": msgspec.to_builtins(setting), "store": str(kept.path)})
    else:
        show(_told(setting, now))
    return Exit.OK


def _told(setting: Setting, found: Effective | None) -> str:
    now = "nothing" if found is None else (found.unsaid or "nothing") if found.value is None else str(found.value)
    if setting.value is None:
        return f"{setting.key} is {now} again, as the file says (revision {setting.revision})"
    return f"{setting.key} is {now} from the next {_since(setting.key)} on (revision {setting.revision})"


def _since(key: str) -> str:
    """With what the next one of it holds."""
    if key.startswith("resources."):
        return "reading"
    return "run" if key.startswith(("budget.", "fallback.")) else "call"
