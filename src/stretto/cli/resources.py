"""`stretto resources`: what a workflow's probes tell now, for whoever is on call."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Final

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from stretto.cli.exits import Exit
from stretto.cli.help import VerbCommand
from stretto.cli.options import DEFAULT_WORKFLOW, AsJson, WorkflowFile
from stretto.cli.rows import Row, labelled
from stretto.cli.terminal import Trimmed, note, print_json, results, show, stdout_for_results_only
from stretto.cli.words import bytes_text, ms_text, number_text
from stretto.runtime.load import load
from stretto.runtime.workflow import Workflow
from stretto.types.errors import UsageError
from stretto.types.json import JsonObject
from stretto.types.resources import AGE, STALE

app = typer.Typer(add_completion=False)

_WATCH_S: Final = 1.0
"""Seconds between two readings that are shown: as often as a probe reads by default."""


@app.command(cls=VerbCommand)
def resources(
    file: WorkflowFile = DEFAULT_WORKFLOW,
    watch: Annotated[bool, typer.Option("--watch", help="Read again every second, until Ctrl-C.")] = False,
    as_json: AsJson = False,
) -> int:
    """Print what a workflow's probes tell now; run nothing.

    Each value has its age, and a mark where it is stale. What is told of components is of this process, in which
    nothing was called. Exits with 1 when a value is stale.
    """
    if watch and as_json:
        raise UsageError("--watch shows reading after reading, and --json prints one document; leave one of them out")
    with stdout_for_results_only():  # a component file may print when it is imported
        workflow = load(file)
    if workflow.plan.resources is None or not any(workflow.plan.resources.probes()):
        raise UsageError(
            f"workflow '{workflow.name}' declares no probes; say which in its file, for example: "
            "resources: {host: {}}"
        )
    told = asyncio.run(_watched(workflow) if watch else workflow.resources())
    if as_json:
        print_json(told)
    else:
        show(_table(told))
    return Exit.FAILED if told[STALE] else Exit.OK


async def _watched(workflow: Workflow) -> JsonObject:
    """Show reading after reading; never returns."""
    async with workflow.probing() as read:
        note("read every second; Ctrl-C ends it")
        with _redrawn() as draw:
            while True:
                draw(_table(read()))
                await asyncio.sleep(_WATCH_S)


@contextmanager
def _redrawn() -> Iterator[Callable[[RenderableType], None]]:
    """Draws reading after reading: over the one before on a terminal, else below it."""
    console = results()
    if not console.is_terminal:
        yield lambda table: show(Group(table, ""))
        return
    with Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False) as live:
        yield lambda table: live.update(Trimmed(table), refresh=True)


def _table(told: JsonObject) -> RenderableType:
    return labelled(list(_rows(told)), results().width)


def _rows(told: Any) -> Iterator[Row]:  # Any: JSON as the probes built it
    stale, ages = set(told[STALE]), dict(_flat(told[AGE]))
    for name, value in _flat({key: each for key, each in told.items() if key not in (STALE, AGE)}):
        mark = Text("stale", "bold yellow") if name in stale else Text("")
        yield Text(name, "bold"), (Text(_value(name, value)), mark)
    for probe, age in ages.items():
        said = "never read" if age is None else f"read {ms_text(age)} ago"
        yield Text(f"probe {probe}", "dim"), (Text(said, "dim"), Text(""))


def _flat(values: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Each single value with its path."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        elif isinstance(value, list):
            for index, each in enumerate(value):
                yield from _flat(each, f"{prefix}{name}[{index}].")
        else:
            yield prefix + name, value


def _value(name: str, value: Any) -> str:
    if value is None:
        return "null"
    if name.endswith("_bytes"):
        return bytes_text(value)
    if isinstance(value, str):
        return value
    unit = {"percent": " %", "ms": " ms", "celsius": " °C"}.get(name.rpartition("_")[2], "")
    return f"{number_text(value) if isinstance(value, float) else f'{value:,}'}{unit}"
