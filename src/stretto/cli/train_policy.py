"""`stretto train`, of a policy whose weights are here: by comparing runs of one task."""

import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from stretto.cli.exits import Exit
from stretto.cli.interrupted import tell_interrupted
from stretto.cli.stopping import run_async, stopping_told
from stretto.cli.terminal import notes, print_json, results, show
from stretto.cli.train_again import TrainCommand, nothing_left, updates_made
from stretto.cli.train_bar import TrainBar
from stretto.cli.words import count_text, number_text
from stretto.components.policy import SoftmaxPolicy
from stretto.learn.options import TrainOptions
from stretto.learn.rollouts import Rollouts
from stretto.learn.tasks import Task
from stretto.learn.train import TrainResult, train as train_policy
from stretto.learn.update import UpdateReport
from stretto.runtime.workflow import Workflow


class PolicyTraining:
    """One training of a policy, its progress shown on stderr."""

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
                    options=self._options, code=self._workflow.code(), resume=self._resume,
                    changed_code=self._command.changed_code, on_update=self._after,
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
        beside = [f"left out: {left_out}"] if left_out else []
        beside += ["with the changed code"] if report.changed_code else []
        self._bar.tell(report.update, "  ".join([told, *beside]))


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
