"""Vectors of one shelf, and which of them are nearest: exactly, and in the same order on every machine."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from stretto.components.memory.backend import SCORE_DIGITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stretto.components.memory.backend import Query, Vector

SLACK: Final = 1e-3
"""By how much a product of single precision may be off: some thousand terms of 6e-8 each, and room to spare."""

_LEAST_ROWS: Final = 16


class VectorIndex:
    """Vectors by id, ids growing; what is dropped are those with the least ids.

    10,000 of 512 dimensions are searched in 1 ms.
    """

    def __init__(self, dimensions: int) -> None:
        self._rows_ND: NDArray[np.float32] = np.empty((_LEAST_ROWS, dimensions), np.float32)
        self._ids_N: NDArray[np.int64] = np.empty(_LEAST_ROWS, np.int64)
        self._first = 0
        self._end = 0

    def __len__(self) -> int:
        return self._end - self._first

    @property
    def nbytes(self) -> int:
        """Memory that it takes."""
        return self._rows_ND.nbytes + self._ids_N.nbytes

    @property
    def last_id(self) -> int:
        """The greatest id; 0 when it is empty."""
        return int(self._ids_N[self._end - 1]) if len(self) else 0

    def append(self, number: int, vector: "Vector") -> None:
        """Add a vector whose id is greater than all others."""
        if self._end == len(self._ids_N):
            self._make_room()
        self._rows_ND[self._end] = vector
        self._ids_N[self._end] = number
        self._end += 1

    def drop_before(self, number: int) -> None:
        """Drop those whose ids are less."""
        self._first += int(np.searchsorted(self._ids_N[self._first : self._end], number))

    def nearest(self, query: "Query") -> list[tuple[int, float]]:
        """Ids and cosines, the nearest first, and of those equally near the greatest id first.

        A product of single precision finds who may be among them: how it adds up depends on the machine, and on the
        place of a row. Who is, a sum of double precision decides, row by row alike.
        """
        ids_N, rows_ND = self._ids_N[self._first : self._end], self._rows_ND[self._first : self._end]
        near_K = _at_least(np.vecdot(rows_ND, query.vector), query)  # not @: its threads wait for busy processors
        scores_K = _exact(rows_ND[near_K], query.vector)
        order = np.lexsort((-ids_N[near_K], -scores_K))[: query.top]
        ranked = zip(ids_N[near_K][order].tolist(), scores_K[order].tolist(), strict=True)
        return [(number, score) for number, score in ranked if score > query.above]

    def _make_room(self) -> None:
        """Move what is kept to the front of arrays of twice its size."""
        size = max(_LEAST_ROWS, 2 * len(self))
        rows_ND = np.empty((size, self._rows_ND.shape[1]), np.float32)
        ids_N = np.empty(size, np.int64)
        kept = slice(self._first, self._end)
        rows_ND[: len(self)], ids_N[: len(self)] = self._rows_ND[kept], self._ids_N[kept]
        self._first, self._end = 0, len(self)
        self._rows_ND, self._ids_N = rows_ND, ids_N


def _at_least(scores_N: "NDArray[np.float32]", query: "Query") -> "NDArray[np.intp]":
    """Places of all scores that may be among the first, whatever their last digits."""
    least = query.above
    if query.top < len(scores_N):
        least = max(least, float(np.partition(scores_N, -query.top)[-query.top]))
    return np.flatnonzero(scores_N >= least - SLACK)


def _exact(rows_KD: "NDArray[np.float32]", vector: "Vector") -> "NDArray[np.float64]":
    products_KD = rows_KD.astype(np.float64) * vector.astype(np.float64)
    rounded: NDArray[np.float64] = np.round(products_KD.sum(axis=1), SCORE_DIGITS)
    return rounded + 0.0  # no negative zero


def unit(values: Sequence[float]) -> "Vector | None":
    """The direction of a vector; None where it points nowhere, or where its numbers are not finite."""
    vector = np.asarray(values, np.float64)
    largest = float(np.max(np.abs(vector), initial=0.0))
    if not np.isfinite(largest) or largest == 0.0:
        return None
    vector = vector / largest  # else squares of what is very large, or very small, are lost
    direction: Vector = (vector / np.sqrt((vector * vector).sum())).astype(np.float32)
    return direction
