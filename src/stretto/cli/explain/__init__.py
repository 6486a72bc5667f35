"""`stretto explain`: what made a run go as it did."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer

from stretto.cli.exits import Exit
from stretto.cli.explain.lines import show_explained
from stretto.cli.explain.page import page
from stretto.cli.help import VerbCommand
from stretto.cli.opened import opened
from stretto.cli.options import DEFAULT_WORKFLOW, AsJson, RunRef, StorePath, WorkflowOption
from stretto.cli.recorded_step import recorded_step
from stretto.cli.stopping import run_async
from stretto.cli.terminal import note, print_json, stdout_for_results_only, working
from stretto.cli.words import escaped
from stretto.learn.explain.explained import RunExplained
from stretto.learn.explain.fields import MOST
from stretto.learn.explain.run import explain_run
from stretto.record.model import Run, StepRecord
from stretto.runtime.finding import find_run
from stretto.runtime.load import load
from stretto.runtime.workflow import Workflow
from stretto.store.sqlite import Store
from stretto.types.enums import StepStatus
from stretto.types.errors import StoreError, UsageError

app = typer.Typer(add_completion=False)

COMPARED: Final = 200
"""Other runs of the workflow that are read, the newest: what is usual there, and values to try in place of its own."""

MOST_TRIED: Final = 1_000


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
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write it as a page that needs nothing else, too.")
    ] = None,
    store: StorePath = None,
    as_json: AsJson = False,
) -> int:
    """Explain a recorded run: what made its choices, and what each field of its answers was worth.

    A choice of kind torch is attributed to its inputs by integrated gradients, with what does not add up and how far it
    beats random orders. What a field was worth is told by replay, with what other runs saw in its place: the run's
    reward less the mean of the replays'. Nothing is written, and no replay is kept.
    """
    with opened(store) as kept, stdout_for_results_only(), tempfile.TemporaryDirectory() as folder:
        found = find_run(kept, run)
        steps = _answered(found) if step is None else [recorded_step(found, step)]
        loaded = load(workflow, store=Path(folder) / "replays.db")
        _hold_to_run(loaded, found)
        told = run_async(_explained(loaded, found, steps, _others(kept, found), tried))
    if as_json:
        print_json(msgspec.to_builtins(told))
    else:
        show_explained(told)
    if html is not None:
        _write(html, told)
    return Exit.OK


async def _explained(
    workflow: Workflow, run: Run, steps: Sequence[StepRecord], others: Sequence[Run], tried: int
) -> RunExplained:
    going = _Going(len(steps))
    with working(going):
        async with workflow:
            return await explain_run(workflow, run, steps, others, most=tried, on_step=going.begin)


class _Going:
    """What goes on, for whoever waits."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._begun = 0
        self._path = ""

    def begin(self, step: StepRecord) -> None:
        self._begun += 1
        self._path = step.path

    def __rich__(self) -> str:
        return f"explaining step {self._begun} of {self._steps}: {escaped(self._path)}" if self._begun else "loading"


def _answered(run: Run) -> list[StepRecord]:
    """Steps that a component answered itself, but for those that judge the run."""
    steps = [step for step in run.steps if step.component and step.status is StepStatus.OK and not step.rewards]
    if not steps:
        raise UsageError(f"no step of run {run.id} was answered by its component, so there is nothing to explain")
    return steps


def _others(store: Store, run: Run) -> list[Run]:
    """The newest other runs of its workflow that ended."""
    newest = store.list(limit=COMPARED + 1, workflow=run.manifest.workflow)
    return [store.get(each.id) for each in newest if each.id != run.id and each.status is not None][:COMPARED]


def _hold_to_run(workflow: Workflow, run: Run) -> None:
    if workflow.name != run.manifest.workflow:
        raise UsageError(
            f"run {run.id} is of workflow '{run.manifest.workflow}', and this file declares '{workflow.name}'; "
            "name its file with --workflow FILE"
        )


def _write(path: Path, told: RunExplained) -> None:
    try:
        path.write_text(page(told), encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error}") from error
    note(f"written: {path}")
