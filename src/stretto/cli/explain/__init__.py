"""`stretto explain`: what made a run go as it did."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from stretto.cli.checkpoints import best_in, read_checkpoints, with_checkpoints
from stretto.cli.exits import Exit
from stretto.cli.explain.lines import show_explained
from stretto.cli.help import VerbCommand
from stretto.cli.opened import opened
from stretto.cli.options import DEFAULT_WORKFLOW, AsJson, Checkpoint, RunRef, StorePath, WorkflowOption
from stretto.cli.stopping import run_async
from stretto.cli.terminal import note, print_json, stdout_for_results_only, working
from stretto.cli.words import escaped
from stretto.learn.explain.explained import RunExplained
from stretto.learn.explain.fields import MOST
from stretto.learn.explain.page import page
from stretto.learn.explain.run import MOST_TRIED, explain as explain_run
from stretto.record.model import StepRecord
from stretto.runtime.load import load
from stretto.runtime.workflow import Workflow
from stretto.types.errors import StoreError
from stretto.types.protocols import Trainable

app = typer.Typer(add_completion=False)


@app.command(cls=VerbCommand)
def explain(
    run: RunRef,
    step: Annotated[
        str | None, typer.Option("--step", metavar="PATH", help="Only this step. [default: every step that answered]")
    ] = None,
    workflow: WorkflowOption = DEFAULT_WORKFLOW,
    tried: Annotated[
        int,
        typer.Option("--tried", metavar="N", min=1, max=MOST_TRIED, help="Other values of a field that are tried."),
    ] = MOST,
    reads: Annotated[
        bool, typer.Option("--reads", help="Let replays ask steps that read the world, for real; else they end there.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write it as a page that needs nothing else, too.")
    ] = None,
    checkpoint: Checkpoint = None,
    store: StorePath = None,
    as_json: AsJson = False,
) -> int:
    """Explain a recorded run: what made its choices, and what each field of its answers was worth.

    A choice of kind torch is attributed to its inputs by integrated gradients, with what does not add up and how far it
    beats random orders. What a field was worth is told by replay, with what other runs saw in its place: the run's
    reward less the mean of the replays'. Nothing is written or asked that reads the world, and no replay is kept.
    """
    with opened(store) as kept, stdout_for_results_only():
        loaded = with_checkpoints(load(workflow, store=kept), read_checkpoints(checkpoint or ()))
        told = run_async(_explained(loaded, run, step, tried, reads=reads))
    if as_json:
        print_json(msgspec.to_builtins(told))
    else:
        show_explained(told)
    _note_other_weights(loaded, told, checkpoint or ())
    if html is not None:
        _write(html, told)
    return Exit.OK


async def _explained(workflow: Workflow, run: str, step: str | None, tried: int, *, reads: bool) -> RunExplained:
    going = _Going()
    with working(going):
        async with workflow:
            return await explain_run(workflow, run, step=step, tried=tried, reads=reads, on_step=going.begin)


def _note_other_weights(workflow: Workflow, told: RunExplained, given: Sequence[str]) -> None:
    """How to explain a run by the weights that made it, where those that were read are others; a folder of a joint
    training that was given keeps those that did best and no others, so that it says of which update they are."""
    names = [name for name in told.changed if isinstance(workflow.plan.components.get(name), Trainable)]
    flags = " ".join(f"--checkpoint {name}=PATH" for name in names)
    if names and (kept := best_in(given)):
        folder, best = kept[0]
        note(
            f"the weights that made this run are others: {folder.folder} keeps those that did best, after update "
            f"{best.update}. Explain a run whose label `group` begins with {best.update}/ (stretto runs list), or give "
            f"those of this one, where they were kept: {flags}"
        )
    elif names:
        note(
            f"the weights that made this run are others; give those: {flags}, or --checkpoint FOLDER of their training"
        )


class _Going:
    """What goes on, for whoever waits."""

    def __init__(self) -> None:
        self._told = "loading"

    def begin(self, number: int, steps: int, step: StepRecord) -> None:
        self._told = f"explaining step {number} of {steps}: {escaped(step.path)}"

    def __rich__(self) -> str:
        return self._told


def _write(path: Path, told: RunExplained) -> None:
    try:
        path.write_text(page(told), encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}; name a file that can be written") from error
    note(f"written: {path}")
