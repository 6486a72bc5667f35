"""`stretto vagueness`: how much of a planner's success depends on the executor that it was trained with."""

import tempfile
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer
from rich.text import Text

from stretto.cli.checkpoints import read_checkpoints, with_checkpoints
from stretto.cli.exits import Exit
from stretto.cli.help import VerbCommand
from stretto.cli.options import DEFAULT_WORKFLOW, AsJson, Checkpoint, WorkflowFile
from stretto.cli.rows import Row, labelled, one_piece
from stretto.cli.stopping import run_async
from stretto.cli.task_file import TASKS, read_tasks, tasks_beside
from stretto.cli.terminal import print_json, results, show, stdout_for_results_only, working
from stretto.cli.words import count_text, escaped
from stretto.learn.adversity.measuring import NOISE, Measuring, requests_for
from stretto.learn.adversity.vagueness import MESSAGES, Vagueness, vagueness_of
from stretto.learn.evaluate import Figure
from stretto.learn.tasks import hold_to_contract
from stretto.runtime.load import load
from stretto.runtime.workflow import Workflow
from stretto.store.sqlite import Store
from stretto.types.errors import UsageError
from stretto.types.protocols import Component, Trainable

app = typer.Typer(add_completion=False)

MOST_AT_ONCE: Final = 10_000
"""Runs at once, as of a training."""

MOST_RUNS: Final = 1_000

SEVERAL_SIDES: Final = 3
"""Sets of runs beside those of other executors: its own, with answers to other tasks, with messages of other tasks."""


@app.command(cls=VerbCommand)
def vagueness(
    planner: Annotated[str, typer.Option("--planner", metavar="STEP", help="The step that says what to do.")],
    executor: Annotated[str, typer.Option("--executor", metavar="STEP", help="The step that does what it says.")],
    file: WorkflowFile = DEFAULT_WORKFLOW,
    tasks: Annotated[
        Path | None,
        typer.Option("--tasks", metavar="FILE", help=f"Tasks, one a line. [default: {TASKS} beside the workflow]"),
    ] = None,
    strict: Annotated[
        list[str] | None,
        typer.Option(
            "--strict",
            metavar="FILE|FOLDER|NAME",
            help="Another executor: a checkpoint of the component, FOLDER of a joint training of it, or another "
            "component of the workflow's files; may be repeated.",
        ),
    ] = None,
    noise: Annotated[
        float,
        typer.Option(
            "--noise",
            metavar="X",
            min=0.0,
            help="Blur the numbers that the planner gives by X times what each varies by. [default: 0]",
        ),
    ] = 0.0,
    runs: Annotated[
        int, typer.Option("--runs", metavar="N", min=1, max=MOST_RUNS, help="Of each task. [default: 1]")
    ] = 1,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of every choice. [default: 0]")] = 0,
    concurrency: Annotated[
        int, typer.Option("--concurrency", metavar="N", min=1, max=MOST_AT_ONCE, help="Runs at once. [default: 8]")
    ] = 8,
    checkpoint: Checkpoint = None,
    as_json: AsJson = False,
) -> int:
    """Measure how much of a planner's success depends on the forgiveness of its executor.

    The same tasks are run under the same seeds with its own executor, with each other one, with answers to other tasks
    in place of the executor's, and with what the planner said of other tasks. Components are really called, as often.
    No run is kept. Exits with 1 where the own executor does no better than answers to other tasks: vagueness is then
    not defined.
    """
    if not strict and not noise:
        raise UsageError(
            "vagueness is told by other executors: give --strict FILE, such as an earlier checkpoint or one of another "
            "training, or --strict NAME; where there is none, --noise 0.5 blurs what the planner says"
        )
    todo = read_tasks(tasks or tasks_beside(file))
    with tempfile.TemporaryDirectory() as folder, stdout_for_results_only(), Store(Path(folder) / "runs.db") as kept:
        workflow = with_checkpoints(load(file, store=kept), read_checkpoints(checkpoint or ()))
        hold_to_contract(todo, workflow.plan)
        going = _Going((len(strict or ()) + SEVERAL_SIDES + bool(noise)) * len(todo) * runs)
        measuring = Measuring(
            workflow, planner=planner, executor=executor, concurrency=concurrency, on_run=lambda _: going.advance()
        )
        others = {given: _other(workflow, measuring.executor, given) for given in strict or ()}
        requests = requests_for(todo, runs=runs, seed=seed)
        with working(going):
            sides = run_async(measuring.sides(requests, others, noise))
        told = vagueness_of(sides, seed=seed)
    if as_json:
        print_json(msgspec.to_builtins(told))
    else:
        _show(told, planner, executor, len(todo), runs)
    return Exit.FAILED if told.undefined else Exit.OK


def _other(workflow: Workflow, executor: Component, given: str) -> Component:
    """The executor with other weights where a file or a training is given, else the component of that name."""
    if not Path(given).exists():
        try:
            return workflow.component(given)
        except UsageError as error:
            raise UsageError(f"--strict {given}: no file or folder is there, and {error}") from error
    name = executor.card.name
    if not isinstance(executor, Trainable):
        kind = executor.card.kind
        raise UsageError(f"--strict {given}: '{name}' is of kind {kind}, which has no weights; name another component")
    if not Path(given).is_dir():
        return executor.with_weights(given)
    weights = read_checkpoints([given])
    if name not in weights:
        raise UsageError(f"--strict {given}: component '{name}' did not learn in that training")
    return executor.with_weights(weights[name])


class _Going:
    """What goes on, for whoever waits."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._made = 0

    def advance(self) -> None:
        self._made += 1

    def __rich__(self) -> str:
        return f"run {self._made} of {self._total}"


def _show(told: Vagueness, planner: str, executor: str, tasks: int, runs: int) -> None:
    """Print the rewards of all sides, and what they say."""
    often = "" if runs == 1 else f", {count_text(runs, 'run')} of each"
    heard = f"what '{escaped(planner)}' says to '{escaped(executor)}'"
    show(f"{heard}: reward on {count_text(tasks, 'task')}{often}\n")
    named = {name: "with noise on what it says" if name == NOISE else f"with {name}" for name in told.strict}
    sides = [
        ("with its own executor", told.own, 0),
        *((named[name], figure, told.failed.get(name, 0)) for name, figure in told.strict.items()),
        ("with answers to other tasks", told.answers, 0),
        ("with what it said of other tasks", told.messages, told.failed.get(MESSAGES, 0)),
    ]
    show(labelled([_row(label, figure, lost) for label, figure, lost in sides], results().width))
    if told.vagueness is None or told.forgiveness is None:
        show(f"\nvagueness is not defined: {told.undefined}")
        return
    means = {
        "vagueness": (told.vagueness, "of its success is lost with other executors"),
        "forgiveness": (told.forgiveness, "of its success remains whatever it says"),
    }
    show("")
    show(labelled([_row(name, figure, 0, words) for name, (figure, words) in means.items()], results().width))


def _row(label: str, figure: Figure, lost: int, words: str = "") -> Row:
    told = words or (f"{count_text(lost, 'run')} failed" if lost else "")
    interval = f"{figure.low:.3f} to {figure.high:.3f}"
    return Text(f"  {escaped(label)}"), (one_piece(f"{figure.value:.3f}"), one_piece(interval), Text(told))
