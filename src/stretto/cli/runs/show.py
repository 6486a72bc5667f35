"""`stretto runs show`: one run, whole."""

from typing import Annotated

import typer
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from stretto.cli.downgrades import downgrades
from stretto.cli.errors import failure_text
from stretto.cli.help import VerbCommand
from stretto.cli.opened import opened
from stretto.cli.options import AsJson, RunRef, StorePath
from stretto.cli.rows import labelled
from stretto.cli.run_document import whole_document
from stretto.cli.runs.afterwards import annotations_table, effects_table
from stretto.cli.runs.header import header
from stretto.cli.runs.seen_view import seen_rows
from stretto.cli.runs.step_view import io_view, step_view
from stretto.cli.section import section
from stretto.cli.terminal import print_json_bytes, results, show
from stretto.cli.timeline import legend, timeline
from stretto.cli.waiting import Typed
from stretto.record.model import ErrorInfo, Run
from stretto.runtime.finding import find_run
from stretto.runtime.recorded_step import recorded_step

app = typer.Typer(add_completion=False)


@app.command(cls=VerbCommand)
def show_run(
    run: RunRef,
    io: Annotated[bool, typer.Option("--io", help="Also the input and output of each step, cut short.")] = False,
    step: Annotated[
        str | None, typer.Option("--step", metavar="PATH", help="One step in full: `talk[3]/executor`.")
    ] = None,
    store: StorePath = None,
    as_json: AsJson = False,
) -> None:
    """Show a run: what it was pinned to, how it ended, its steps on a time line, its writes and what came later."""
    with opened(store) as kept:
        found = find_run(kept, run)
        meant = None if step is None else recorded_step(found, step)
        effects, annotations = kept.effects(found.id), kept.annotations(found.id)
        if as_json:
            print_json_bytes(whole_document(found, effects, annotations, kept.path))
            return
    if meant is not None:
        show(step_view(meant))
        return
    console = results()
    room = console.width - 2  # of indent
    parts: list[RenderableType] = [header(found, console.width), *_timeline(found, console)]
    if found.error is not None:
        parts.append(section("error", _error(found.error)))
    if stood_in := downgrades(found):
        parts.append(section("answered by a fallback", Group(*stood_in)))
    if seen := seen_rows(found):
        parts.append(section("resources seen", labelled(seen, room)))
    if effects:
        parts.append(section("writes", effects_table(effects, found, Typed(store=store), room)))
    if annotations:
        parts.append(section("known later", annotations_table(annotations, room)))
    if io:
        parts.append(section("inputs and outputs", io_view(found, room)))
    show(Group(*parts))


def _timeline(run: Run, console: Console) -> list[RenderableType]:
    if not run.steps:
        return [Text("\nno step was recorded", "dim")]
    console.width -= 2
    return [section("steps", timeline(run, console)), Padding(legend(run, console), (0, 0, 0, 2), expand=False)]


def _error(error: ErrorInfo) -> Text:
    codes = [code for code in (error.code, error.rpc_code) if code]
    return failure_text(error).append(f"\n[{', '.join(codes)}]", "dim")
