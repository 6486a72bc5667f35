"""`stretto chaos`: faults injected into a workflow's components, and what became of its runs."""

import tempfile
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from stretto.chaos.experiment import Experiment
from stretto.chaos.lapse import LapsingLoop
from stretto.chaos.report import ChaosReport
from stretto.cli.chaos.again import ChaosCommand
from stretto.cli.chaos.given import hold_to_contract, read_given
from stretto.cli.chaos.tables import report_tables
from stretto.cli.checkpoints import read_checkpoints, with_checkpoints
from stretto.cli.exits import Exit
from stretto.cli.help import VerbCommand
from stretto.cli.options import DEFAULT_WORKFLOW, AsJson, Checkpoint, WorkflowFile
from stretto.cli.stopping import run_async, stopping_told
from stretto.cli.terminal import note, notes, print_json, results, show, stdout_for_results_only
from stretto.cli.values import read_object
from stretto.runtime.load import load
from stretto.spec.chaos import load_chaos
from stretto.spec.workflow import load_workflow
from stretto.store.sqlite import Store
from stretto.types.errors import UsageError

app = typer.Typer(add_completion=False)

DEFAULT_PLAN: Final = "chaos.yaml"
"""The plan that is meant when none is named: this file beside the workflow's."""

USUAL_RUNS: Final = 100

MOST_AT_ONCE: Final = 10_000
"""Runs at once, as of a training."""


@app.command(cls=VerbCommand)
def chaos(  # one parameter a flag
    file: WorkflowFile = DEFAULT_WORKFLOW,
    plan: Annotated[
        Path | None,
        typer.Option(
            "--plan", metavar="FILE", help=f"Faults and expectations. [default: {DEFAULT_PLAN} beside the workflow]"
        ),
    ] = None,
    runs: Annotated[
        int, typer.Option("--runs", metavar="N", min=1, help=f"Runs under faults. [default: {USUAL_RUNS}]")
    ] = USUAL_RUNS,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", min=0, help="Of every choice. [default: the plan's]")
    ] = None,
    only: Annotated[
        int | None, typer.Option("--only", metavar="INDEX", min=0, help="Make only this one of the runs, as it was.")
    ] = None,
    given: Annotated[
        str | None, typer.Option("--input", "-i", metavar="JSON|@FILE|-", help="The input of every run.")
    ] = None,
    inputs: Annotated[
        Path | None, typer.Option("--inputs", metavar="FILE", help="Inputs that the runs take in turn, one a line.")
    ] = None,
    tasks: Annotated[
        Path | None, typer.Option("--tasks", metavar="FILE", help="Tasks, as `stretto train` takes them.")
    ] = None,
    concurrency: Annotated[
        int, typer.Option("--concurrency", metavar="N", min=1, max=MOST_AT_ONCE, help="Runs at once. [default: 8]")
    ] = 8,
    checkpoint: Checkpoint = None,
    store: Annotated[
        Path | None,
        typer.Option("--store", metavar="PATH", help="Where the runs are kept. [default: a new temporary folder]"),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Inject faults into a workflow's components, and tell what became of its runs.

    Exits with 1 when the plan's expectations are not met. The components are the real ones: run it where nothing of
    theirs matters. Injected waits take no time.
    """
    chosen = plan or _beside(file)
    spec = load_chaos(chosen)
    one = None if given is None else read_object(given, "--input")
    asked = read_given(spec, chosen.parent, file, one=one, inputs=inputs, tasks=tasks)
    place = store or Path(tempfile.mkdtemp(prefix="stretto-chaos-")) / "runs.db"
    with Store(place) as kept:
        with stdout_for_results_only():
            workflow = with_checkpoints(load(file, store=kept), read_checkpoints(checkpoint or ()))
            hold_to_contract(asked, workflow.plan)
            progress = _Progress(runs if only is None else 1)
            experiment = Experiment(
                workflow,
                spec,
                asked,
                runs=runs,
                seed=seed,
                only=only,
                concurrency=concurrency,
                on_run=progress.advance,
            )
            try:
                report = run_async(progress.follow(experiment), LapsingLoop)
            except KeyboardInterrupt:
                report = experiment.report(stopped=True)
        command = ChaosCommand(
            file=file,
            plan=plan,
            runs=None if runs == USUAL_RUNS else runs,
            seed=seed,
            given=given,
            one=one,
            inputs=inputs,
            tasks=tasks,
            checkpoint=checkpoint or (),
        )
        return _tell(report, command, place, as_json=as_json)


def _beside(file: Path) -> Path:
    """The plan beside a workflow. Raises UsageError when there is none, with one to begin with."""
    plan = file.parent / DEFAULT_PLAN
    if plan.exists() or not file.is_file():  # of a workflow that is not there its own reader speaks
        return plan
    called = (step.component.value for step in load_workflow(file).steps if step.component is not None)
    component = next(called, "NAME").partition("@")[0]
    raise UsageError(
        f"there is no {DEFAULT_PLAN} beside {file}, and no --plan FILE was given; write {plan}, for example:\n"
        "  stretto: 1\n"
        f"  faults: [{{component: {component}, fault: error, code: unavailable, rate: 0.2}}]\n"
        "`stretto schema chaos` prints what else may stand in it"
    )


class _Progress:
    """The runs that were made, on a terminal's stderr."""

    def __init__(self, total: int) -> None:
        console = notes()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._shown = self._bar.add_task("runs under faults", total=total)
        self._left = total

    async def follow(self, experiment: Experiment) -> ChaosReport:
        """Make the experiment, and show how far it is."""
        with self._bar, stopping_told():
            return await experiment.go()

    def advance(self) -> None:
        """A run has ended."""
        self._left -= 1
        if self._left == -1:
            self._bar.update(self._shown, description="runs with a wrong value", total=None)
        self._bar.advance(self._shown)


def _tell(report: ChaosReport, command: ChaosCommand, store: Path, *, as_json: bool) -> int:
    """Print the report; returns the exit code."""
    if as_json:
        print_json({**msgspec.to_builtins(report), "met": report.met, "store": str(store)})
    else:
        show(report_tables(report, command.only, store, results().width))
        note(f"the runs are in {store}")
    if report.stopped:
        return Exit.INTERRUPTED
    return Exit.OK if report.met else Exit.FAILED
