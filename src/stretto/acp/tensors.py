"""Named tensors as they cross the wire, safetensors bytes, and whether they are those that a card tells of."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import safetensors
from safetensors.numpy import load, save

from stretto.types.card import Real, Tensor

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]

NUMPY: Final[Mapping[Real, Any]] = {Real.F32: np.float32, Real.F64: np.float64}
"""numpy's name for each."""


def written(arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Arrays as safetensors bytes; none are none."""
    if not arrays:
        return b""
    content: bytes = save({name: np.ascontiguousarray(each).reshape(each.shape) for name, each in arrays.items()})
    return content


def read(content: bytes, declared: Iterable[Tensor], *, whole: bool = False) -> Arrays:
    """The arrays that safetensors bytes hold, each one of those declared, with `whole` all of them.

    Raises ValueError, in words, for other bytes, and for a tensor that is missing, of another name, shape or type.
    """
    try:
        found: Arrays = load(content) if content else {}
    except (safetensors.SafetensorError, ValueError, KeyError, TypeError) as error:  # numpy has not each of its types
        raise ValueError(f"{len(content)} bytes that are no safetensors of a known type: {error}") from error
    by_name = {each.name: each for each in declared}
    for name, array in found.items():
        _hold(name, array, by_name)
    missing = [name for name in by_name if name not in found]
    if whole and missing:
        raise ValueError(f"no tensor {missing[0]!r} among {_names(found)}")
    return found


def _hold(name: str, array: npt.NDArray[Any], declared: Mapping[str, Tensor]) -> None:
    told = declared.get(name)
    if told is None:
        raise ValueError(f"a tensor {name!r}; expected {_names(declared)}")
    if array.shape != told.shape:
        raise ValueError(f"{name!r} of shape {list(array.shape)}; expected {list(told.shape)}")
    if array.dtype != NUMPY[told.dtype]:
        raise ValueError(f"{name!r} of {array.dtype}; expected {told.dtype}")


def not_finite(arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """The name of an array that is not all numbers; empty where each is."""
    return next((name for name, each in arrays.items() if not np.isfinite(each).all()), "")


def _names(names: Collection[str]) -> str:
    return ", ".join(map(repr, names)) or "none"
