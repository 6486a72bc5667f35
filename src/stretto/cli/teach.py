"""`stretto train`, of a component that learns where it is: runs are made here, and it is told how they were judged."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from stretto.cli.exits import Exit
from stretto.cli.interrupted import tell_interrupted
from stretto.cli.stopping import run_async, stopping_told
from stretto.cli.terminal import note, print_json, show
from stretto.cli.train_bar import TrainBar
from stretto.cli.train_options import names_set
from stretto.cli.words import count_text, number_text
from stretto.learn.options import TrainOptions
from stretto.learn.reflect import Reflected, reflect
from stretto.learn.rollouts import Rollouts
from stretto.learn.tasks import Task
from stretto.learn.teach import EFFECTIVE, TaughtReport, teach
from stretto.record.model import Run
from stretto.runtime.workflow import Workflow
from stretto.types.errors import UsageError


def refuse_without_effect(component: str, options: Sequence[str], folder: Path | None, *, resume: bool) -> None:
    """Raise UsageError for what only a training of weights that are here heeds."""
    given = [f"--set {name}" for name in names_set(options) if name not in EFFECTIVE]
    given += ["--folder"] if folder is not None else []
    given += ["--resume"] if resume else []
    if given:
        raise UsageError(
            f"{given[0]} has no effect: '{component}' learns where it is served, by options of its own, and keeps what "
            f"it learnt there. Leave it out; --set takes {', '.join(EFFECTIVE)}"
        )


class Teaching:
    """Teaches one component of a workflow, its progress shown on stderr."""

    def __init__(
        self, workflow: Workflow, component: str, tasks: Sequence[Task], options: TrainOptions, concurrency: int
    ) -> None:
        self._workflow = workflow
        self._component = component
        self._tasks = tasks
        self._options = options
        self._concurrency = concurrency
        self._bar = TrainBar(options)
        self._made = 0
        self._reports: Sequence[TaughtReport] | None = None

    def go(self) -> None:
        """Teach to the end, or until Ctrl-C."""
        with suppress(KeyboardInterrupt):
            self._reports = run_async(self._taught())

    def tell(self, *, as_json: bool) -> int:
        """Say what came of it; the exit code."""
        if self._reports is None:
            kept = f"what '{self._component}' was told of {count_text(self._made, 'update')} it has learnt"
            return tell_interrupted(f"stopped by Ctrl-C; {kept}", as_json=as_json)
        _tell(self._component, self._reports, as_json=as_json)
        return Exit.OK

    async def _taught(self) -> tuple[TaughtReport, ...]:
        rollouts = Rollouts(self._workflow, concurrency=self._concurrency, on_run=lambda _: self._bar.advance())
        with self._bar.shown, stopping_told():
            async with self._workflow:
                return await teach(
                    self._component, self._tasks, make=rollouts.ran, tell=self._told, options=self._options,
                    on_update=self._after,
                )  # fmt: skip

    async def _told(self, runs: Sequence[Run]) -> Sequence[Reflected]:
        return await reflect(self._workflow, runs)

    def _after(self, report: TaughtReport) -> None:
        self._made = report.update
        reward = "unknown" if report.reward_mean is None else f"{report.reward_mean:7.4f}"
        unknown = report.runs - report.judged
        refused = report.signals - report.accepted
        told = [f"reward {reward}  {count_text(report.runs, 'run')}, {count_text(report.accepted, 'signal')} accepted"]
        told += [f"{unknown} of unknown reward"] if unknown else []
        told += [f"{refused} refused: {report.refusal}"] if refused else []
        self._bar.tell(report.update, ", ".join(told))


def _tell(component: str, reports: Sequence[TaughtReport], *, as_json: bool) -> None:
    if as_json:
        print_json({"component": component, "updates": [msgspec.to_builtins(report) for report in reports]})
        return
    known = [report.reward_mean for report in reports if report.reward_mean is not None]
    runs = count_text(sum(report.runs for report in reports), "run")
    if known:
        before, after = number_text(known[0]), number_text(known[-1])
        show(f"reward {before} in the first update, {after} in the last; '{component}' was told of {runs}")
    else:
        show(f"'{component}' was told of {runs}; the reward of none is known")
    note("what it learnt is where it is served")
