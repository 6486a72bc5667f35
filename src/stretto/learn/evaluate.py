"""Runs folded into figures: the mean reward and any of its terms, each with an interval."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np

from stretto.learn.arguments import as_recorded, each_recorded, one_recorded
from stretto.learn.objective import Floats
from stretto.learn.rewards import reward_as_of
from stretto.learn.usable import Recorded
from stretto.record.model import Run
from stretto.stats.bootstrap import Interval, ratio_interval
from stretto.types.arguments import wrong
from stretto.types.enums import RunStatus
from stretto.types.errors import LearningError, UsageError


class Metric(msgspec.Struct, frozen=True):
    """A figure of many runs: the mean of a term, or the sum of one term over the sum of another."""

    term: str = "reward"
    """``reward`` is the run's total; any other name is that of a reward's term, of whatever weight."""
    over: str = ""
    """Term to divide by: ``Metric("writes_right", over="writes_gold")`` is a share of all writes."""


REWARD = Metric()


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A metric's value over runs, with its 95 % interval over tasks and seeds."""

    value: float
    low: float
    high: float
    runs: int
    """Runs whose value is known; the others are left out, never counted as 0."""


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of a set of runs."""

    figures: Mapping[str, Figure]
    runs: int
    statuses: Mapping[RunStatus, int]


Key = tuple[str, int]
"""Task and seed: what makes two runs a pair."""

Table = Mapping[Key, float]


def evaluate(
    recorded: Iterable[Run | Recorded],
    metrics: Mapping[str, Metric] | None = None,
    *,
    as_of_ns: int | None = None,
    seed: int = 0,
) -> Evaluation:
    """Fold runs into the named metrics, the mean reward when none is named.

    Raises LearningError when a metric is known for no run, or one task and seed occurs twice.
    """
    runs, metrics = as_recorded(recorded), named(metrics)
    return Evaluation(
        figures={name: _figure(name, runs, metric, as_of_ns, seed) for name, metric in metrics.items()},
        runs=len(runs),
        statuses=dict(sorted(Counter(item.run.status for item in runs if item.run.status is not None).items())),
    )


def named(metrics: Mapping[str, Metric] | None) -> Mapping[str, Metric]:
    """The metrics that were asked for, the mean reward where none was; raises UsageError for what names none."""
    if metrics is None:
        return {"reward": REWARD}
    if not isinstance(metrics, Mapping):
        raise wrong("metrics", metrics, "a mapping from names to stretto.learn.evaluate.Metric")
    for name, each in metrics.items():
        if not isinstance(each, Metric):
            raise wrong(f"metrics[{name!r}]", each, "a stretto.learn.evaluate.Metric")
    return metrics


def tables_of(recorded: Iterable[Run | Recorded], metric: Metric, as_of_ns: int | None = None) -> tuple[Table, Table]:
    """Numerator and denominator by task and seed, of the runs where both are known."""
    above: dict[Key, float] = {}
    below: dict[Key, float] = {}
    for item in each_recorded(recorded):
        key = key_of(item)
        if key in above:
            raise LearningError(f"task '{key[0]}' was run twice with seed {key[1]}; give each of its runs another seed")
        values = terms_of(item, as_of_ns)
        top, bottom = values.get(metric.term), values.get(metric.over) if metric.over else 1.0
        if top is not None and bottom is not None:
            above[key], below[key] = top, bottom
    return above, below


def terms_of(item: Run | Recorded, as_of_ns: int | None = None) -> dict[str, float | None]:
    """A run's terms by name, and its total as ``reward``; None is unknown."""
    item = one_recorded(item)
    terms = {reward.name: reward.value for reward in item.run.rewards}
    return {**terms, "reward": reward_as_of(item.run, item.annotations, as_of_ns)}


def key_of(item: Run | Recorded) -> Key:
    """Task and seed, by which runs of two sides are paired."""
    item = one_recorded(item)
    return item.run.labels.get("task", ""), item.run.seed


def grid(table: Table, keys: Sequence[Key]) -> Floats:
    """A table as tasks by seeds, NaN where it has no value; tasks and places follow `keys`."""
    seeds: dict[str, list[int]] = {}
    for task, seed in keys:
        seeds.setdefault(task, []).append(seed)
    values_TS = np.full((len(seeds), max((len(s) for s in seeds.values()), default=0)), np.nan)
    for row, (task, of_task) in enumerate(seeds.items()):
        for column, seed in enumerate(of_task):
            values_TS[row, column] = table.get((task, seed), np.nan)
    return values_TS


def _figure(name: str, recorded: Sequence[Recorded], metric: Metric, as_of_ns: int | None, seed: int) -> Figure:
    above, below = tables_of(recorded, metric, as_of_ns)
    if not above:
        known = sorted({term for item in recorded for term in terms_of(item)})
        raise LearningError(f"metric '{name}' is known for none of {len(recorded)} runs; their terms are {known}")
    keys = sorted(above)
    try:
        interval = ratio_interval(grid(above, keys), grid(below, keys), seed=seed)
    except UsageError as error:
        raise LearningError(f"metric '{name}' cannot be given: {error}") from error
    return figure_of(interval, len(keys))


def figure_of(interval: Interval, runs: int) -> Figure:
    """An interval as the figure of so many runs."""
    return Figure(value=interval.value, low=interval.low, high=interval.high, runs=runs)
