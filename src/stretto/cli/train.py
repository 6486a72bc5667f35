"""`stretto train`: what a workflow can learn, from its own runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, Protocol

import typer

from stretto.cli.help import VerbCommand
from stretto.cli.joint_options import options_help, read_joint_options, read_policy_options
from stretto.cli.options import DEFAULT_WORKFLOW, AsJson, StorePath, WorkflowFile
from stretto.cli.task_file import read_tasks, tasks_beside
from stretto.cli.teach import Teaching, refuse_without_effect
from stretto.cli.terminal import stdout_for_results_only
from stretto.cli.train_again import TrainCommand, hold_to_folder, hold_to_mode
from stretto.cli.train_jointly import JointTraining
from stretto.cli.train_mode import TrainMode, learner_of, mode_of
from stretto.cli.train_policy import PolicyTraining
from stretto.components.policy import SoftmaxPolicy
from stretto.learn.tasks import Task, hold_to_contract
from stretto.runtime.load import load, store_path
from stretto.runtime.workflow import Workflow
from stretto.store.sqlite import Store
from stretto.types.errors import UsageError

app = typer.Typer(add_completion=False)

MOST_AT_ONCE: Final = 10_000
"""Runs at once. Each holds its records in memory; no tool server answers so many."""

AT_ONCE: Final = 8

FOLDERS: Final = Path(".stretto") / "training"
"""Where a training keeps its folder when nobody says otherwise."""


class Going(Protocol):
    """A training that was typed."""

    def go(self) -> None:
        """Train to the end, or until Ctrl-C."""
        ...

    def tell(self, *, as_json: bool) -> int:
        """Say what came of it; the exit code."""
        ...


@app.command(cls=VerbCommand)
def train(
    file: WorkflowFile = DEFAULT_WORKFLOW,
    tasks: Annotated[
        Path | None,
        typer.Option(
            "--tasks",
            metavar="FILE",
            help="Tasks, one JSON object a line: name, input, and more. [default: tasks.jsonl beside the workflow]",
        ),
    ] = None,
    mode: Annotated[
        TrainMode | None,
        typer.Option(
            "--mode",
            metavar="MODE",
            help="What learns: policy, or end-to-end for all PyTorch components. [default: policy, where there is one]",
        ),
    ] = None,
    component: Annotated[
        str | None, typer.Option("--component", metavar="NAME", help="Which policy. [default: the only one]")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            metavar="PATH",
            help="Where weights and progress go. [default: .stretto/training/COMPONENT, or the workflow's name]",
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the training that the folder holds.")] = False,
    changed_code: Annotated[
        bool,
        typer.Option(
            "--changed-code", help="With --resume: go on with Python code that was changed since, from here on."
        ),
    ] = False,
    options: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help=options_help())] = None,
    concurrency: Annotated[
        int | None,
        typer.Option("--concurrency", metavar="N", min=1, max=MOST_AT_ONCE, help=f"Runs at once. [default: {AT_ONCE}]"),
    ] = None,
    store: StorePath = None,
    as_json: AsJson = False,
) -> int:
    """Make a workflow better by its own recorded runs: a policy, or all of its PyTorch components together.

    A policy learns by comparing runs of one task with each other; a component that learns where it is served is told
    how its answers were judged. With --mode end-to-end every PyTorch component learns from the gradient of the reward.

    Everything is kept after each update, so that Ctrl-C loses the present one only; --resume comes to the same numbers
    as a training that was never stopped.
    """
    if changed_code and not resume:
        raise UsageError(
            "--changed-code has no effect without --resume: a training that begins holds the code that is there; leave "
            "it out"
        )
    command = TrainCommand(
        file=file, tasks=tasks, mode=mode, component=component, folder=folder, options=options or (),
        concurrency=concurrency, store=store, changed_code=changed_code,
    )  # fmt: skip
    with Store(store_path(store)) as kept, stdout_for_results_only():
        todo = read_tasks(tasks or tasks_beside(file))
        workflow = load(file, store=kept)
        going = _going(workflow, todo, command, resume=resume)
        going.go()
    return going.tell(as_json=as_json)


def _going(workflow: Workflow, tasks: Sequence[Task], command: TrainCommand, *, resume: bool) -> Going:
    """The training that was meant. Raises UsageError for what has no effect in it."""
    if mode_of(workflow, command.mode) is TrainMode.END_TO_END:
        hold_to_mode(command)
        place = command.folder or FOLDERS / workflow.name
        return JointTraining(workflow, tasks, place, read_joint_options(command.options), command, resume=resume)
    chosen, concurrency = read_policy_options(command.options), command.concurrency or AT_ONCE
    learner = learner_of(workflow, command.component)
    hold_to_contract(tasks, workflow.plan)
    if isinstance(learner, SoftmaxPolicy):
        place = command.folder or FOLDERS / learner.name
        hold_to_folder(place, command, resume=resume)
        return PolicyTraining(workflow, learner, tasks, place, chosen, concurrency, command, resume=resume)
    refuse_without_effect(learner.card.name, command.options, command.folder, resume=resume)
    return Teaching(workflow, learner.card.name, tasks, chosen, concurrency)
