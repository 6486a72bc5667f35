"""Columns chosen from row by row: what a merge, a carry or a fallback comes to."""

from collections.abc import Sequence

import torch
from torch import Tensor

from stretto.learn.differentiable.columns import Choices, Column, Fields, Rows, Tensors


def select(mask: Tensor, one: Column, other: Column) -> Column:
    """`one` where the mask is true, `other` elsewhere; tensors stay tensors where both are of one shape."""
    if isinstance(one, Tensors) and isinstance(other, Tensors) and one.value.shape == other.value.shape:
        return Tensors(where(mask, one.value, other.value), _where_present(mask, one, other))
    if isinstance(one, Choices) and isinstance(other, Choices) and one.names == other.names:
        return Choices(
            one.names,
            where(mask, one.chosen_B, other.chosen_B),
            where(mask, one.log_p_BA, other.log_p_BA),
            relaxed_BA=where(mask, one.one_hot_BA, other.one_hot_BA),
            present=_where_present(mask, one, other),
        )
    if isinstance(one, Fields) and isinstance(other, Fields) and one.fields.keys() == other.fields.keys():
        fields = {name: select(mask, one.fields[name], other.fields[name]) for name in one.fields}
        return Fields(fields, one.size, _where_present(mask, one, other))
    if mask.all():
        return one
    if not mask.any():
        return other
    return Rows([a if is_one else b for is_one, a, b in zip(mask.tolist(), one.json, other.json, strict=True)])


def first_of(columns: Sequence[Column]) -> Column:
    """Of each row the first that is not null."""
    found = columns[0]
    for column in columns[1:]:
        mask = found.present
        if mask is None:
            return found
        found = select(mask, found, column)
    return found


def where(mask: Tensor, one: Tensor, other: Tensor) -> Tensor:
    """Rows of `one` where the mask is true, of `other` elsewhere."""
    return torch.where(mask.to(one.device).reshape(-1, *[1] * (one.dim() - 1)), one, other)


def _where_present(mask: Tensor, one: Column, other: Column) -> Tensor | None:
    if one.present is None and other.present is None:
        return None
    everywhere = torch.ones(one.size, dtype=torch.bool)
    a = everywhere if one.present is None else one.present
    b = everywhere if other.present is None else other.present
    return torch.where(mask, a, b)
