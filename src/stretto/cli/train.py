"""`stretto train`: a policy made better by the workflow's own runs."""

import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer

from stretto.cli.exits import Exit
from stretto.cli.help import VerbCommand
from stretto.cli.interrupted import tell_interrupted
from stretto.cli.options import DEFAULT_WORKFLOW, AsJson, StorePath, WorkflowFile
from stretto.cli.stopping import run_async, stopping_told
from stretto.cli.task_file import hold_to_contract, read_tasks
from stretto.cli.teach import Teaching, refuse_without_effect
from stretto.cli.terminal import notes, print_json, results, show, stdout_for_results_only
from stretto.cli.train_again import TrainCommand, hold_to_folder, nothing_left, updates_made
from stretto.cli.train_bar import TrainBar
from stretto.cli.train_options import options_help, read_options
from stretto.cli.words import count_text, number_text
from stretto.components.policy import SoftmaxPolicy
from stretto.learn.options import TrainOptions
from stretto.learn.rollouts import Rollouts
from stretto.learn.tasks import Task
from stretto.learn.train import TrainResult, train as train_policy
from stretto.learn.update import UpdateReport
from stretto.runtime.load import load, store_path
from stretto.runtime.workflow import Workflow
from stretto.store.sqlite import Store
from stretto.types.card import CHOOSES
from stretto.types.errors import UsageError
from stretto.types.protocols import Component, Reflects

app = typer.Typer(add_completion=False)

MOST_AT_ONCE: Final = 10_000
"""Runs at once. Each holds its records in memory; no tool server answers so many."""


@app.command(cls=VerbCommand)
def train(
    tasks: Annotated[
        Path, typer.Option("--tasks", metavar="FILE", help="Tasks, one JSON object a line: name, input, and more.")
    ],
    file: WorkflowFile = DEFAULT_WORKFLOW,
    component: Annotated[
        str | None, typer.Option("--component", metavar="NAME", help="Which policy. [default: the only one]")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder", metavar="PATH", help="Where weights and progress go. [default: .stretto/training/COMPONENT]"
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the training that the folder holds.")] = False,
    options: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help=options_help())] = None,
    concurrency: Annotated[
        int, typer.Option("--concurrency", metavar="N", min=1, max=MOST_AT_ONCE, help="Runs at once. [default: 8]")
    ] = 8,
    store: StorePath = None,
    as_json: AsJson = False,
) -> int:
    """Make a policy better by the workflow's own recorded runs.

    Policy gradient: runs of one task are compared with each other. Everything is kept after each update, so that
    Ctrl-C loses the present one only; --resume comes to the same numbers as a training that was never stopped. A
    component that learns where it is served is told how its answers were judged, and learns there.
    """
    chosen = read_options(options or ())
    todo = read_tasks(tasks)
    command = TrainCommand(
        file=file, tasks=tasks, component=component, folder=folder, options=options or (), store=store
    )
    with Store(store_path(store)) as kept, stdout_for_results_only():
        workflow = load(file, store=kept)
        policy = _learner(workflow, component)
        hold_to_contract(todo, workflow.plan)
        going: _Training | Teaching
        if isinstance(policy, SoftmaxPolicy):
            place = folder or Path(".stretto") / "training" / policy.name
            hold_to_folder(place, command, resume=resume)
            going = _Training(workflow, policy, todo, place, chosen, concurrency, command, resume=resume)
        else:
            refuse_without_effect(policy.card.name, options or (), folder, resume=resume)
            going = Teaching(workflow, policy.card.name, todo, chosen, concurrency)
        going.go()
    return going.tell(as_json=as_json)


class _Training:
    """One training, its progress shown on stderr."""

    def __init__(
        self, workflow: Workflow, policy: SoftmaxPolicy, tasks: Sequence[Task], folder: Path, options: TrainOptions,
        concurrency: int, command: TrainCommand, *, resume: bool,
    ) -> None:  # fmt: skip
        self._has_updated = False
        self._workflow = workflow
        self._policy = policy
        self._tasks = tasks
        self._folder = folder
        self._options = options
        self._concurrency = concurrency
        self._command = command
        self._resume = resume
        self._bar = TrainBar(options)
        self._result: TrainResult | None = None

    def go(self) -> None:
        """Train to the end, or until Ctrl-C."""
        with suppress(KeyboardInterrupt):
            self._result = run_async(self._trained())

    def tell(self, *, as_json: bool) -> int:
        """Say what came of it; the exit code."""
        place, result = self._folder, self._result
        if result is None:
            made = count_text(updates_made(place), "update")
            message = f"stopped by Ctrl-C with {made} made; --resume goes on with the training in {place}"
            return tell_interrupted(message, as_json=as_json)
        if not self._has_updated:
            left = nothing_left(place, len(result.reports), self._options.updates, self._command)
            notes().print(left, soft_wrap=True)
        _tell(result, self._command.file, self._policy.name, as_json=as_json)
        return Exit.OK

    async def _trained(self) -> TrainResult:
        rollouts = Rollouts(self._workflow, concurrency=self._concurrency, on_run=lambda _: self._bar.advance())
        with self._bar.shown, stopping_told():
            async with self._workflow:
                return await train_policy(
                    self._policy, self._tasks, rollout=rollouts.make, read=rollouts.read, folder=self._folder,
                    options=self._options, resume=self._resume, on_update=self._after,
                )  # fmt: skip

    def _after(self, report: UpdateReport) -> None:
        self._has_updated = True
        left_out = ", ".join(f"{count} {reason.value.replace('_', ' ')}" for reason, count in report.excluded.items())
        told = (
            "skipped, nothing to learn from"
            if report.is_skipped
            else f"reward {report.reward_mean:7.4f}  entropy {report.entropy:6.4f}  "
            f"KL to the start {report.kl_start:6.4f}  {count_text(report.runs, 'run')}, "
            f"{count_text(report.decisions, 'decision')}"
        )
        self._bar.tell(report.update, f"{told}{f'  left out: {left_out}' if left_out else ''}")


def _learner(workflow: Workflow, name: str | None) -> Component:
    """The component to train, a policy whose weights are here or one that learns where it is; UsageError names those
    there are."""
    learners = {name: each for name, each in workflow.plan.components.items() if _learns(each)}
    if name is None and len(learners) == 1:
        return next(iter(learners.values()))
    if name in learners:
        return learners[name]
    there = f"it has: {', '.join(learners)}" if learners else _none(workflow)
    what = "name one with --component" if name is None else f"'{name}' is no policy of it"
    raise UsageError(f"workflow '{workflow.name}': {what}; {there}")


def _none(workflow: Workflow) -> str:
    frozen = [name for name, each in workflow.plan.components.items() if CHOOSES in each.card.capabilities]
    if frozen:
        return f"'{frozen[0]}' chooses and does not learn; where it is served, make it a stretto.LearningPolicy"
    return "it has none; make one with stretto.SoftmaxPolicy"


def _learns(component: Component) -> bool:
    chooses = CHOOSES in component.card.capabilities
    return isinstance(component, SoftmaxPolicy) or (chooses and isinstance(component, Reflects))


def _tell(result: TrainResult, file: Path, component: str, *, as_json: bool) -> None:
    reports = result.reports
    if as_json:
        updates = [msgspec.to_builtins(report) for report in reports]
        print_json({"component": component, "checkpoint": str(result.checkpoint), "updates": updates})
        return
    learnt = [report for report in reports if not report.is_skipped]
    if learnt:
        runs = sum(report.runs for report in learnt)
        before, after = (number_text(report.reward_mean) for report in (learnt[0], learnt[-1]))
        show(f"reward {before} in the first update, {after} in the last; {count_text(runs, 'run')} learnt from")
    else:
        show("nothing was learnt: accidents took every run")
    results().print(f"weights: {result.checkpoint}", soft_wrap=True)  # a path that is cut cannot be copied
    weights = shlex.quote(f"{component}={result.checkpoint}")
    notes().print(f"serve them: stretto run {shlex.quote(str(file))} --checkpoint {weights}", soft_wrap=True)
    notes().print(f"for good: give the policy '{component}' checkpoint=\"{result.checkpoint}\"", soft_wrap=True)
