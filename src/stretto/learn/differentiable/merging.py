"""Columns chosen from row by row: what a merge, a carry or a fallback comes to."""

from collections.abc import Sequence

import torch
from torch import Tensor

from stretto.components.torch.shape import DType, Shape
from stretto.components.torch.values import tensor_of
from stretto.learn.differentiable.answered import Answered
from stretto.learn.differentiable.chosen import Choices
from stretto.learn.differentiable.columns import Column, Fields, Mixed, Rows, Tensors
from stretto.types.json import Json


def select(mask: Tensor, one: Column, other: Column) -> Column:
    """`one` where the mask is true, `other` elsewhere; tensors stay so, also beside JSON of their shape."""
    if isinstance(one, Tensors) and isinstance(other, Tensors) and one.value.shape == other.value.shape:
        value, present = where(mask, one.value, other.value), _where_present(mask, one, other)
        is_mixed = isinstance(one, Mixed) or isinstance(other, Mixed)
        return Mixed(value, present, _told(mask, one, other)) if is_mixed else Tensors(value, present)
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
    if isinstance(one, Answered) or isinstance(other, Answered):
        names = {name: None for each in (one, other) if isinstance(each, Answered) for name in each.tensors}
        return Answered(
            _told(mask, one, other), {name: select(mask, one.below(name), other.below(name)) for name in names}
        )
    return _of_values(mask, one, other)


def _of_values(mask: Tensor, one: Column, other: Column) -> Column:
    """Of columns that are no tensors of one form: JSON values, beside which tensors stay so where the values fit."""
    if mask.all():
        return one
    if not mask.any():
        return other
    told = _told(mask, one, other)
    tensors = one if isinstance(one, Tensors) else other
    others = other if tensors is one else one
    if isinstance(tensors, Tensors) and isinstance(others, Rows):
        from_tensors = mask if tensors is one else ~mask
        return _mixed(from_tensors, tensors, others, told) or Rows(told)
    return Rows(told)


def _told(mask: Tensor, one: Column, other: Column) -> list[Json]:
    return [a if is_one else b for is_one, a, b in zip(mask.tolist(), one.json, other.json, strict=True)]


def _mixed(mask: Tensor, tensors: Tensors, others: Rows, told: list[Json]) -> Mixed | None:
    """Tensors where the mask is true, and JSON values elsewhere as such; None where those are no such tensors."""
    value = tensors.value
    shape = Shape(*value.shape[1:], dtype=DType.FLOAT64, absent=0)
    needed = [None if is_own else each for is_own, each in zip(mask.tolist(), others.values, strict=True)]
    try:
        made = tensor_of(needed, shape).to(value)
    except (ValueError, TypeError):
        return None
    here = torch.tensor([each is not None for each in needed])
    own = torch.ones_like(mask) if tensors.present is None else tensors.present
    present = torch.where(mask, own, here)
    return Mixed(where(mask, value, made), None if bool(present.all()) else present, told)


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
