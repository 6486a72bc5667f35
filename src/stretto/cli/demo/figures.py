"""A study folded into figures: each side, the paired differences, and what could not be known."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from stretto.learn.compare import compare
from stretto.learn.evaluate import Figure, Metric, evaluate, terms_of
from stretto.learn.usable import Recorded
from stretto.types.enums import RunStatus

Metrics = Mapping[str, Metric]


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One way to serve the test customers."""

    figures: Mapping[str, Figure]
    """Of the customers for whom something is to be changed."""
    apart: Mapping[str, Figure]
    """Of the others: what does not need a gold write."""
    runs: int
    unknown: int
    """Runs of customers with gold writes whose reward is unknown all the same: left out, not counted as 0."""
    statuses: Mapping[RunStatus, int]


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """All that is told."""

    sides: Mapping[str, Side]
    difference: Mapping[str, Figure]
    """After less before, pair by pair."""
    over: Mapping[str, Mapping[str, Figure]]
    """After less each baseline."""


def fold(arms: Mapping[str, Sequence[Recorded]], metrics: Metrics, has_writes: Callable[[str], bool]) -> Figures:
    """Fold the runs of every side."""
    scored = {arm: [item for item in items if has_writes(_task(item))] for arm, items in arms.items()}
    apart = {arm: [item for item in items if not has_writes(_task(item))] for arm, items in arms.items()}
    after = scored["after"]
    differences = {arm: compare(items, after, metrics).figures for arm, items in scored.items() if arm != "after"}
    return Figures(
        sides={arm: _side(scored[arm], apart[arm], metrics) for arm in arms},
        difference=differences.pop("before"),
        over=differences,
    )


def _side(scored: Sequence[Recorded], apart: Sequence[Recorded], metrics: Metrics) -> Side:
    evaluation = evaluate(scored, metrics)
    known = {
        name: metric
        for name, metric in metrics.items()
        if not metric.over and any(terms_of(item).get(metric.term) is not None for item in apart)
    }
    return Side(
        figures=evaluation.figures,
        apart=evaluate(apart, known).figures if known else {},
        runs=evaluation.runs,
        unknown=sum(terms_of(item)["reward"] is None for item in scored),
        statuses=evaluation.statuses,
    )


def _task(item: Recorded) -> str:
    return item.run.labels["task"]
