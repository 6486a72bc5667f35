"""Which rows of a column have a value: [B], False where null is read; None when nothing is null."""

from typing import Any

from torch import Tensor

from stretto.learn.differentiable.index import Index
from stretto.types.json import Json


def but_absent(values: list[Any], present: Tensor | None) -> list[Json]:
    """The values, null where nothing is. `Any`: what torch makes lists of."""
    if present is None:
        return values
    return [value if here else None for value, here in zip(values, present.tolist(), strict=True)]


def taken(present: Tensor | None, index: Index) -> Tensor | None:
    """Of some rows."""
    return None if present is None else present[index.tensor]


def scattered(present: Tensor | None, index: Index, size: int) -> Tensor:
    """Of a column of that size which has these rows at the index, and null elsewhere."""
    return index.mask(size) if present is None else index.spread(present, size)
