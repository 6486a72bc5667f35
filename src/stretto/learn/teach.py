"""Teaching a component that learns on its own side: make runs, tell it how they were judged, and again."""

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from stretto.learn.options import TrainOptions
from stretto.learn.reflect import Reflected
from stretto.learn.tasks import RolloutRequest, Task, enough_tasks, requests_of
from stretto.record.model import Run
from stretto.types.arguments import check_text
from stretto.types.errors import LearningError

Make = Callable[[Sequence[RolloutRequest]], Awaitable[Sequence[Run]]]
"""Makes the runs with the workflow as it stands."""

Tell = Callable[[Sequence[Run]], Awaitable[Sequence[Reflected]]]
"""Tells the components of ended runs how these were judged."""

EFFECTIVE = ("updates", "tasks_per_update", "group_size", "seed")
"""Options of a training that decide which runs are made; how is learnt from them the component says."""


class TaughtReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was made and told in one update."""

    update: int
    """1 for the first."""
    runs: int
    judged: int
    """Runs whose reward is known."""
    reward_mean: float | None
    """Of those; None where there is none."""
    signals: int
    """That the component was told, one for each answer of it."""
    accepted: int
    """That it learns from."""
    refusal: str
    """Why it does not learn from the first of the others; empty where there is none."""


async def teach(
    component: str,
    tasks: Sequence[Task],
    *,
    make: Make,
    tell: Tell,
    options: TrainOptions,
    on_update: Callable[[TaughtReport], None] | None = None,
) -> tuple[TaughtReport, ...]:
    """Make the runs that a training of these options would make, and have the component told of each update's.

    Weights, and all that is learnt, are the component's. Raises UsageError for tasks that are too few or named alike,
    LearningError where it learns from nothing of an update.
    """
    check_text("the component", component, "its name")
    tasks = enough_tasks(tasks, options)
    reports: list[TaughtReport] = []
    for update in range(1, options.updates + 1):
        runs = await make(requests_of(tasks, options, update))
        told = [each for each in await tell(runs) if each.component == component]
        reports.append(_report(update, runs, told))
        if not reports[-1].accepted:
            raise LearningError(_nothing(component, reports[-1]))
        if on_update is not None:
            on_update(reports[-1])
    return tuple(reports)


def _report(update: int, runs: Sequence[Run], told: Sequence[Reflected]) -> TaughtReport:
    rewards = [run.reward for run in runs if run.reward is not None]
    return TaughtReport(
        update=update,
        runs=len(runs),
        judged=len(rewards),
        reward_mean=sum(rewards) / len(rewards) if rewards else None,
        signals=len(told),
        accepted=sum(each.accepted for each in told),
        refusal=next((each.note or "it says no" for each in told if not each.accepted), ""),
    )


def _nothing(component: str, report: TaughtReport) -> str:
    what = f"'{component}' learns from none of the {report.runs} runs of update {report.update}"
    if report.signals:
        return f"{what}: {report.refusal}"
    return f"{what}: it answered in none of them. Look at one with `stretto runs show last`"
