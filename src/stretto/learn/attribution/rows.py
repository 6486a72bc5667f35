"""One row of named tensors as one flat vector of elements, and back."""

from collections.abc import Callable, Collection, Mapping
from typing import Final, TypeAlias

import torch
from torch import Tensor

from stretto.types.errors import UsageError

Row: TypeAlias = Mapping[str, Tensor]
"""Named tensors of one row each: [1, ...]."""

Score: TypeAlias = Callable[[Row], Tensor]
"""Takes named tensors of N rows, gives [N]."""

ROWS: Final = 64
"""Asked of a score at once: bounds its memory."""


def flat(row: Row) -> Tensor:
    """All elements of a row, [F], in the order of the names."""
    return torch.cat([tensor.reshape(-1) for tensor in row.values()])


def unflat(elements_NF: Tensor, like: Row) -> dict[str, Tensor]:
    """Rows of elements as named tensors of N rows."""
    parts = torch.split(elements_NF, [tensor.numel() for tensor in like.values()], dim=1)
    return {
        name: part.reshape(len(elements_NF), *tensor.shape[1:])
        for (name, tensor), part in zip(like.items(), parts, strict=True)
    }


def units_of(row: Row, whole: Collection[str] = ()) -> Tensor:
    """The unit of each element, [F]: what is taken away or put in at once.

    An element is a unit by itself; of the inputs in `whole`, [1, T, D], the D elements of one vector are.
    """
    units, next_unit = [], 0
    for name, tensor in row.items():
        size = tensor.shape[-1] if name in whole else 1
        count = tensor.numel() // size
        units.append(torch.arange(count).repeat_interleave(size) + next_unit)
        next_unit += count
    return torch.cat(units)


def by_unit(elements_F: Tensor, units_F: Tensor) -> Tensor:
    """Sums over the elements of each unit, [U]."""
    return torch.zeros(int(units_F.max()) + 1, dtype=elements_F.dtype).index_add(0, units_F, elements_F)


def scores(score: Score, elements_NF: Tensor, like: Row) -> Tensor:
    """The score of each row of elements, [N], without gradients."""
    with torch.no_grad():
        return torch.cat([score(unflat(part, like)) for part in torch.split(elements_NF, ROWS)])


def hold_pair(function: str, row: Row, baseline: Row) -> None:
    """Raise UsageError unless both are one row of the same floating-point tensors."""
    if row.keys() != baseline.keys() or not row:
        raise UsageError(f"{function} was given the inputs {list(row)} and a baseline of {list(baseline)}")
    for name, tensor in row.items():
        if tensor.shape[:1] != (1,) or tensor.shape != baseline[name].shape:
            raise UsageError(
                f"{function} was given '{name}' of shape {list(tensor.shape)} and its baseline of shape "
                f"{list(baseline[name].shape)}; expected one row of the same shape"
            )
        if not tensor.is_floating_point():
            raise UsageError(
                f"{function} was given '{name}' of type {tensor.dtype}, which has no gradient; attribute what it is "
                "embedded as"
            )
