"""Intervals by the hierarchical bootstrap: tasks are drawn again, then the seeds within each.

Shape letters: T tasks, S seeds (the most that any task has), K columns, M resamples.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.types.errors import UsageError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

RESAMPLES: Final = 10_000
"""Percentiles of 2.5 % then rest on 250 resamples: their own error is near a tenth of the interval's width or less."""

LEVEL: Final = 0.95

_CHUNK: Final = 2_000_000
"""Draws held at once: bounds memory to some tens of megabytes, whatever the number of tasks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An estimate and its two-sided interval."""

    value: float
    low: float
    high: float


def ratio_interval(
    above_TS: Floats, below_TS: Floats, *, resamples: int = RESAMPLES, level: float = LEVEL, seed: int = 0
) -> Interval:
    """Interval of Σ above / Σ below, cells that are NaN left out; with `below` 1 everywhere, of the mean.

    Percentile bootstrap (Efron and Tibshirani 1993, section 13.3) over two levels (Davison and Hinkley 1997,
    section 3.8): runs of one task are alike, so to draw single runs would give too narrow an interval.
    """
    columns_TSK = _columns(above_TS, below_TS)
    sums_MK = _resampled_sums(columns_TSK, resamples, seed)
    total_K = np.nansum(columns_TSK, axis=(0, 1))
    return _interval(_ratio(total_K[0], total_K[1]), _ratio(sums_MK[:, 0], sums_MK[:, 1]), level)


def difference_interval(
    before: tuple[Floats, Floats],
    after: tuple[Floats, Floats],
    *,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    seed: int = 0,
) -> Interval:
    """Interval of Σ above / Σ below after, less the same before; each side is (above_TS, below_TS).

    Paired: cell (t, s) of both sides is the same task under the same seed, and both are drawn together, so what
    makes a task hard or a seed lucky cancels. A cell that is NaN on one side is left out of both.
    """
    columns_TSK = _columns(*before, *after)
    sums_MK = _resampled_sums(columns_TSK, resamples, seed)
    total_K = np.nansum(columns_TSK, axis=(0, 1))
    value = _ratio(total_K[2], total_K[3]) - _ratio(total_K[0], total_K[1])
    return _interval(value, _ratio(sums_MK[:, 2], sums_MK[:, 3]) - _ratio(sums_MK[:, 0], sums_MK[:, 1]), level)


def _columns(*columns: Floats) -> Floats:
    """Stack T by S columns, NaN wherever any of them is; tasks without a cell are left out."""
    shapes = {column.shape for column in columns}
    if len(shapes) > 1 or columns[0].ndim != 2:
        raise UsageError(f"a bootstrap needs arrays of one shape, tasks by seeds; got {sorted(shapes)}")
    columns_TSK = np.stack(columns, axis=-1)
    columns_TSK[np.isnan(columns_TSK).any(axis=-1)] = np.nan
    kept_TSK = columns_TSK[~np.isnan(columns_TSK[:, :, 0]).all(axis=1)]
    if len(kept_TSK) == 0:
        raise UsageError("a bootstrap needs at least one run whose value is known on every side; there is none")
    return kept_TSK


def _resampled_sums(columns_TSK: Floats, resamples: int, seed: int) -> Floats:
    """Sums over each resample. A drawn task brings as many seeds as it has, drawn with replacement."""
    random = np.random.default_rng(seed)
    tasks, seeds, _ = columns_TSK.shape
    known_TS = ~np.isnan(columns_TSK[:, :, 0])
    packed_TSK = np.take_along_axis(columns_TSK, np.argsort(~known_TS, axis=1, kind="stable")[:, :, None], axis=1)
    packed_TSK = np.nan_to_num(packed_TSK)
    counts_T = known_TS.sum(axis=1)
    chunk = max(1, _CHUNK // (tasks * seeds))
    parts = []
    for first in range(0, resamples, chunk):
        shape = (min(chunk, resamples - first), tasks)
        task_MT = random.integers(tasks, size=shape)
        seed_MTS = (random.random((*shape, seeds)) * counts_T[task_MT][:, :, None]).astype(np.int64)
        drawn_MTS = np.arange(seeds) < counts_T[task_MT][:, :, None]
        parts.append(np.einsum("mtsk,mts->mk", packed_TSK[task_MT[:, :, None], seed_MTS], drawn_MTS.astype(np.float64)))
    return np.concatenate(parts)


def _ratio(above: Floats, below: Floats) -> Floats:
    """above / below, NaN where nothing is below: such a resample says nothing."""
    out = np.full(np.shape(above), np.nan)
    np.divide(above, below, out=out, where=np.asarray(below) != 0.0)
    return out


def _interval(value: Floats, resampled_M: Floats, level: float) -> Interval:
    if not np.isfinite(value):
        raise UsageError("a bootstrap of a ratio needs a denominator that is not 0 in all")
    tail = (1.0 - level) / 2.0
    low, high = np.nanquantile(resampled_M, [tail, 1.0 - tail]).tolist()
    return Interval(value=float(value), low=low, high=high)
