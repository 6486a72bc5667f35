"""Named tensors as they cross the wire, safetensors bytes, and whether they are those that a card tells of."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import safetensors
from safetensors.numpy import load, save

from stretto.acp import messages as m
from stretto.types.card import Real, Tensor, Tensors

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


def told_of(tensors: Tensors | None) -> m.Tensors:
    """A card's tensors as they cross the wire."""
    if tensors is None:
        return m.Tensors()
    return m.Tensors(inputs=_told(tensors.inputs), outputs=_told(tensors.outputs))


def _told(tensors: Iterable[Tensor]) -> tuple[m.Tensor, ...]:
    return tuple(m.Tensor(name=each.name, shape=each.shape, dtype=each.dtype) for each in tensors)


def tensors_of(told: m.Tensors) -> Tensors | None:
    """What a card from elsewhere tells of its tensors; None where it tells nothing.

    Raises ValueError, in words, for what no card can hold.
    """
    if told == m.Tensors():
        return None
    return Tensors(inputs=_read("input", told.inputs), outputs=_read("output", told.outputs))


def _read(side: str, told: Iterable[m.Tensor]) -> tuple[Tensor, ...]:
    found: list[Tensor] = []
    for each in told:
        if not each.name or each.name in [other.name for other in found]:
            raise ValueError(f"an {side} tensor is called {each.name!r}; expected a name, each once")
        if each.dtype and each.dtype not in set(Real):
            raise ValueError(f"the {side} tensor {each.name!r} is of {each.dtype!r}; expected {' or '.join(Real)}")
        if any(size < 1 for size in each.shape):
            raise ValueError(
                f"the {side} tensor {each.name!r} has the shape {list(each.shape)}; expected sizes above 0"
            )
        found.append(Tensor(name=each.name, shape=tuple(each.shape), dtype=Real(each.dtype or Real.F32)))
    return tuple(found)


def _names(names: Collection[str]) -> str:
    return ", ".join(map(repr, names)) or "none"
