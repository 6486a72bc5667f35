"""Two sets of runs compared: the paired difference of each metric, with its interval."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from stretto.learn.arguments import as_recorded
from stretto.learn.evaluate import Figure, Key, Metric, Table, figure_of, grid, key_of, named, tables_of
from stretto.learn.objective import Floats
from stretto.learn.usable import Recorded
from stretto.record.model import Run
from stretto.stats.bootstrap import difference_interval
from stretto.types.errors import LearningError


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Differences, after less before; `runs` of a figure counts pairs."""

    figures: Mapping[str, Figure]
    unpaired: int
    """Task and seed combinations that only one side has."""


def compare(
    before: Iterable[Run | Recorded],
    after: Iterable[Run | Recorded],
    metrics: Mapping[str, Metric] | None = None,
    *,
    as_of_ns: int | None = None,
    seed: int = 0,
) -> Comparison:
    """Pair runs by task and seed and fold them into differences, of the mean reward when no metric is named.

    The interval is that of a hierarchical bootstrap over tasks and seeds. A pair with one value unknown is left
    out. Raises LearningError when a metric has no pair.
    """
    metrics, was, now = named(metrics), as_recorded(before), as_recorded(after)
    apart = {key_of(item) for item in was} ^ {key_of(item) for item in now}
    figures = {name: _difference(name, was, now, metric, as_of_ns, seed) for name, metric in metrics.items()}
    return Comparison(figures=figures, unpaired=len(apart))


def _difference(
    name: str,
    before: Sequence[Recorded],
    after: Sequence[Recorded],
    metric: Metric,
    as_of_ns: int | None,
    seed: int,
) -> Figure:
    tables_before, tables_after = tables_of(before, metric, as_of_ns), tables_of(after, metric, as_of_ns)
    keys = sorted(tables_before[0].keys() & tables_after[0].keys())
    if not keys:
        raise LearningError(
            f"metric '{name}' has no pair: no task and seed has it known on both sides ({len(before)} runs before, "
            f"{len(after)} after). Run the same tasks with the same seeds"
        )
    interval = difference_interval(_grids(tables_before, keys), _grids(tables_after, keys), seed=seed)
    return figure_of(interval, len(keys))


def _grids(tables: tuple[Table, Table], keys: Sequence[Key]) -> tuple[Floats, Floats]:
    return grid(tables[0], keys), grid(tables[1], keys)
