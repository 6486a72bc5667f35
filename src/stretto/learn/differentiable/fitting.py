"""What a module is given: a column as the tensor or list that a parameter takes, and the rows that do not fit."""

from collections.abc import Sequence

import torch
from torch import Tensor

from stretto.components.torch.shape import OneOf, Shape, Tensorial
from stretto.components.torch.values import dtype_of, tensor_of
from stretto.learn.differentiable.chosen import Choices
from stretto.learn.differentiable.columns import Column, Tensors
from stretto.types.errors import ContractError
from stretto.types.json import Json


def fitted(column: Column, what: Tensorial, where: str) -> tuple[Tensor, list[int]]:
    """The column as a tensor, and which rows are no such thing; zeros stand there.

    Raises ContractError for a tensor of another shape, which no row can mend.
    """
    if isinstance(column, Tensors) and isinstance(what, Shape):
        return _of_tensors(column, what, where)
    if isinstance(column, Choices) and isinstance(what, OneOf) and column.names == what.alternatives:
        return column.one_hot_BA, _absent(column.present)
    return _of_rows(column.json, what)


def _of_tensors(column: Tensors, what: Shape, where: str) -> tuple[Tensor, list[int]]:
    value, present = column.value, column.present
    if value.shape[1:] != what.dims:
        raise ContractError(
            f"{where} takes {what!r}, rows of {list(what.dims)}, and is given rows of {list(value.shape[1:])}"
        )
    dtype, misfits = dtype_of(what), []
    if value.dtype is not dtype:
        misfits = _no_integers(value) if value.is_floating_point() and not what.dtype.is_real else []
        value = value.to(dtype)
    if present is None or what.absent is None:
        return value, sorted({*misfits, *_absent(present)})
    mask = present.to(value.device).reshape(-1, *[1] * len(what.dims))
    return torch.where(mask, value, torch.full_like(value, what.absent)), misfits


def _no_integers(value: Tensor) -> list[int]:
    """Rows of reals that are not all integers, which no integers stand for."""
    rows = (value.detach() == value.detach().round()) & torch.isfinite(value.detach())
    return (~rows.reshape(len(rows), -1).all(1)).nonzero()[:, 0].tolist()


def _of_rows(rows: Sequence[Json], what: Tensorial) -> tuple[Tensor, list[int]]:
    try:
        return tensor_of(rows, what), []
    except (ValueError, TypeError):
        pass
    misfits = [row for row, value in enumerate(rows) if not _fits(value, what)]
    stand_in: Json = what.alternatives[0] if isinstance(what, OneOf) else Shape(*what.dims, absent=0).filled
    return tensor_of([stand_in if row in set(misfits) else value for row, value in enumerate(rows)], what), misfits


def _fits(value: Json, what: Tensorial) -> bool:
    try:
        tensor_of([value], what)
    except (ValueError, TypeError):
        return False
    return True


def _absent(present: Tensor | None) -> list[int]:
    return [] if present is None else [row for row, here in enumerate(present.tolist()) if not here]
