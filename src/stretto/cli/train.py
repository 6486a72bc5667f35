"""`stretto train`: a policy made better by the workflow's own runs."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from stretto.cli.exits import Exit
from stretto.cli.help import VerbCommand
from stretto.cli.interrupted import tell_interrupted
from stretto.cli.options import DEFAULT_WORKFLOW, AsJson, StorePath, WorkflowFile
from stretto.cli.stopping import run_async, stopping_told
from stretto.cli.task_file import hold_to_contract, read_tasks
from stretto.cli.terminal import notes, print_json, results, show, stdout_for_results_only
from stretto.cli.train_again import TrainCommand, nothing_left, refuse_begun, updates_made
from stretto.cli.train_options import options_help, read_options
from stretto.cli.words import count_text, number_text
from stretto.components.policy import SoftmaxPolicy
from stretto.learn.options import TrainOptions
from stretto.learn.rollouts import Rollouts
from stretto.learn.state import TrainFolder
from stretto.learn.tasks import Task
from stretto.learn.train import TrainResult, train as train_policy
from stretto.learn.update import UpdateReport
from stretto.runtime.load import load, store_path
from stretto.runtime.workflow import Workflow
from stretto.store.sqlite import Store
from stretto.types.errors import UsageError

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
    Ctrl-C loses the present one only; --resume comes to the same numbers as a training that was never stopped.
    """
    chosen = read_options(options or ())
    todo = read_tasks(tasks)
    command = TrainCommand(
        file=file, tasks=tasks, component=component, folder=folder, options=options or (), store=store
    )
    with Store(store_path(store)) as kept, stdout_for_results_only():
        workflow = load(file, store=kept)
        policy = _policy(workflow, component)
        hold_to_contract(todo, workflow.plan)
        place = folder or Path(".stretto") / "training" / policy.name
        if resume:
            TrainFolder(place).check_started()
        else:
            refuse_begun(place, command)
        training = _Training(workflow, policy, todo, place, chosen, concurrency)
        try:
            result = run_async(training.go(resume=resume))
        except KeyboardInterrupt:
            result = None
    if result is None:
        made = count_text(updates_made(place), "update")
        message = f"stopped by Ctrl-C with {made} made; --resume goes on with the training in {place}"
        return tell_interrupted(message, as_json=as_json)
    if not training.has_updated:
        notes().print(nothing_left(place, len(result.reports), chosen.updates, command), soft_wrap=True)
    _tell(result, file, policy.name, as_json=as_json)
    return Exit.OK


class _Training:
    """One training, its progress shown on stderr."""

    def __init__(
        self, workflow: Workflow, policy: SoftmaxPolicy, tasks: Sequence[Task], folder: Path, options: TrainOptions,
        concurrency: int,
    ) -> None:  # fmt: skip
        self.has_updated = False
        self._workflow = workflow
        self._policy = policy
        self._tasks = tasks
        self._folder = folder
        self._options = options
        self._concurrency = concurrency
        console = notes()
        self._bar = Progress(
            TextColumn("training"), BarColumn(), MofNCompleteColumn(), TextColumn("runs"), TimeRemainingColumn(),
            console=console, transient=True, disable=not console.is_terminal,
        )  # fmt: skip
        self._shown = self._bar.add_task("", total=options.updates * options.tasks_per_update * options.group_size)

    async def go(self, *, resume: bool) -> TrainResult:
        """Train to the end."""
        rollouts = Rollouts(
            self._workflow, concurrency=self._concurrency, on_run=lambda _: self._bar.advance(self._shown)
        )
        with self._bar, stopping_told():
            async with self._workflow:
                return await train_policy(
                    self._policy, self._tasks, rollout=rollouts.make, read=rollouts.read, folder=self._folder,
                    options=self._options, resume=resume, on_update=self._after,
                )  # fmt: skip

    def _after(self, report: UpdateReport) -> None:
        self.has_updated = True
        self._bar.update(
            self._shown, completed=report.update * self._options.tasks_per_update * self._options.group_size
        )
        left_out = ", ".join(f"{count} {reason.value.replace('_', ' ')}" for reason, count in report.excluded.items())
        told = (
            "skipped, nothing to learn from"
            if report.is_skipped
            else f"reward {report.reward_mean:7.4f}  entropy {report.entropy:6.4f}  "
            f"KL to the start {report.kl_start:6.4f}  {count_text(report.runs, 'run')}, "
            f"{count_text(report.decisions, 'decision')}"
        )
        self._bar.console.print(
            f"update {report.update:>3} of {self._options.updates}  {told}"
            f"{f'  left out: {left_out}' if left_out else ''}",
            soft_wrap=not self._bar.console.is_terminal,
        )


def _policy(workflow: Workflow, name: str | None) -> SoftmaxPolicy:
    """The policy to train; UsageError names those there are."""
    trainable = {name: each for name, each in workflow.plan.components.items() if isinstance(each, SoftmaxPolicy)}
    if name is None and len(trainable) == 1:
        return next(iter(trainable.values()))
    if name in trainable:
        return trainable[name]
    there = f"it has: {', '.join(trainable)}" if trainable else "it has none; make one with stretto.SoftmaxPolicy"
    what = "name one with --component" if name is None else f"'{name}' is no policy of it"
    raise UsageError(f"workflow '{workflow.name}': {what}; {there}")


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
