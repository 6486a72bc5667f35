"""Between JSON and tensors. Shape letters: B rows, A alternatives."""

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor

from stretto.components.torch.shape import DType, OneOf, Shape, Spelt, Tensorial
from stretto.types.errors import ContractError
from stretto.types.json import Json

_TOLD: Final = {
    DType.FLOAT32: frozenset({torch.float32, torch.float64}),
    DType.FLOAT64: frozenset({torch.float32, torch.float64}),
    DType.INT64: frozenset({torch.int64}),
}
"""By what is declared, the types that are told as they are: of real numbers the finer one loses nothing."""


def dtype_of(shape: Shape) -> torch.dtype:
    """Its element type, as torch has it."""
    found: torch.dtype = getattr(torch, shape.dtype)
    return found


def tensor_of(rows: Sequence[Json], what: Tensorial) -> Tensor:
    """B rows of JSON as one tensor. Raises ValueError or TypeError for rows that are not what it says."""
    if isinstance(what, OneOf):
        return one_hot(rows, what)
    if what.absent is not None:
        filled = what.filled
        rows = [filled if row is None else row for row in rows]
    made = torch.tensor(rows, dtype=dtype_of(what))
    if made.shape[1:] != what.dims:
        raise ValueError(f"rows of shape {list(made.shape[1:])}, where {what!r} is said")
    return made


def told(rows: Tensor, shape: Shape) -> list[Json]:
    """A tensor of a module as B rows of JSON."""
    values: list[Json] = rows.detach().tolist()
    return [shape.text(row) for row in values] if isinstance(shape, Spelt) else values  # type: ignore[arg-type]  # tokens


def one_hot(rows: Sequence[Json], what: OneOf) -> Tensor:
    """B names as [B, A], float32."""
    places = {name: place for place, name in enumerate(what.alternatives)}
    try:
        chosen_B = [places[row] for row in rows]  # type: ignore[index]  # what is no name raises, as below
    except (KeyError, TypeError) as error:
        raise ValueError(f"{error} is not {what!r}") from error
    return torch.eye(len(places))[torch.tensor(chosen_B, dtype=torch.int64)]


def hold_shape(component: str, field: str, value: object, shape: Shape, rows: int) -> Tensor:
    """The value, a tensor of that many rows of that shape; raises ContractError that names both.

    Of a type that JSON has no numbers of, as bfloat16, it becomes what is declared.
    """
    wanted = (rows, *shape.dims)
    if type(value) is Tensor and value.shape == wanted and value.dtype in _TOLD[shape.dtype]:  # as most, and at once
        return value
    if not isinstance(value, Tensor):
        raise ContractError(f"component '{component}' returned {type(value).__name__} as {field!r}, not a tensor")
    if value.shape != wanted:
        raise ContractError(
            f"component '{component}' returned {field!r} of shape {list(value.shape)}, where {list(wanted)} is said: "
            f"{rows} rows of {shape!r}"
        )
    if value.dtype in _TOLD[shape.dtype]:
        return value
    if value.is_complex() or (value.is_floating_point() and not shape.dtype.is_real):
        raise ContractError(
            f"component '{component}' returned {field!r} of {str(value.dtype).removeprefix('torch.')}, where "
            f"{shape.dtype} is said; convert it in the module, or declare another dtype of its Shape"
        )
    return value.to(dtype_of(shape))
