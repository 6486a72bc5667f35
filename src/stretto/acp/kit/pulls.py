"""What a component that pulls gradients back is asked in cases: tensors of its card, the same numbers each time."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias, assert_never

import numpy as np
import numpy.typing as npt

from stretto.acp import tensors as wire
from stretto.acp.kit.case import Pull
from stretto.acp.messages import WireCard
from stretto.acp.tensor_fields import tensors_of
from stretto.types.card import Tensor, Tensors
from stretto.types.json import JsonObject

SUMS: Final = (2.0, -3.0)
"""Of the first cotangents and the second, in what is pulled back of both."""

_Arrays: TypeAlias = dict[str, npt.NDArray[Any]]


def pulled_with(card: WireCard, value: JsonObject, pull: Pull) -> JsonObject:
    """What of a request to `vjp` says what is pulled back, and where; nothing where the card tells no tensors."""
    told = tensors_of(card.tensors)
    if told is None or pull is Pull.NOTHING:
        return {}
    inputs = arrays_in(value, told.inputs)
    cotangents = cotangents_of(told, pull)
    rest: JsonObject = {name: each for name, each in value.items() if name not in inputs}
    if pull is Pull.MISSHAPEN:
        inputs = {name: np.stack([each, each]) for name, each in inputs.items()}
    if pull is Pull.UNKNOWN:
        cotangents = {f"{name}-that-is-not-there": each for name, each in cotangents.items()}
    return {"inputs": _text(inputs), "cotangents": _text(cotangents), "input": rest}


def cotangents_of(told: Tensors, pull: Pull) -> _Arrays:
    """One for each output."""
    first, second = drawn(told.outputs, 1), drawn(told.outputs, 2)
    match pull:
        case Pull.SECOND:
            return second
        case Pull.BOTH:
            return {name: _sum(each, second[name]) for name, each in first.items()}
        case Pull.FIRST | Pull.MISSHAPEN | Pull.UNKNOWN | Pull.NOTHING:
            return first
        case _:
            assert_never(pull)


def _sum(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> npt.NDArray[Any]:
    found: npt.NDArray[Any] = SUMS[0] * one.astype(np.float64) + SUMS[1] * other
    return found.astype(one.dtype)


def drawn(tensors: Sequence[Tensor], seed: int) -> _Arrays:
    """Normal numbers."""
    rng = np.random.default_rng(seed)
    return {each.name: np.asarray(rng.standard_normal(each.shape), wire.NUMPY[each.dtype]) for each in tensors}


def there(value: JsonObject, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Those that a value holds."""
    return [each for each in tensors if value.get(each.name) is not None]


def arrays_in(value: JsonObject, tensors: Sequence[Tensor]) -> _Arrays:
    """Fields as arrays of the shapes that are told; those that are none are left out."""
    found: _Arrays = {}
    for each in there(value, tensors):
        try:
            array = np.asarray(value[each.name], wire.NUMPY[each.dtype])
        except (ValueError, TypeError):
            continue
        if array.shape == each.shape:
            found[each.name] = array
    return found


def _text(arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    return base64.b64encode(wire.written(arrays)).decode()
