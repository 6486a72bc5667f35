"""What is asked of the tensors is checked before numbers are made of them."""

from collections.abc import Mapping, Sequence

from torch import Tensor

from stretto.types.errors import UsageError


def hold_to_shape(function: str, shape: Sequence[int], given: Mapping[str, Tensor | None]) -> None:
    """Raise UsageError, naming both shapes, unless every tensor that is there has this one."""
    for argument, tensor in given.items():
        if tensor is not None and tuple(tensor.shape) != tuple(shape):
            raise UsageError(
                f"{function} was given {argument} of shape {list(tensor.shape)} where {list(shape)} was expected"
            )


def hold_to_matrix(function: str, argument: str, tensor: Tensor) -> None:
    """Raise UsageError unless the tensor is floating-point, of two dimensions: items, and alternatives or draws."""
    if tensor.dim() != 2 or not tensor.is_floating_point():
        raise UsageError(
            f"{function} was given {argument} of shape {list(tensor.shape)} and type {tensor.dtype}; expected floats "
            "of two dimensions"
        )


def hold_to_temperature(function: str, temperature: float) -> None:
    """Raise UsageError unless a temperature is above 0."""
    if not temperature > 0.0:
        raise UsageError(f"{function} was given the temperature {temperature}; expected a number above 0, as 0.5")
