"""Arrays beside the record: a safetensors blob for each, and in JSON only ``{"$blob", "dtype", "shape"}``."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from stretto.record.model import StepRecord
from stretto.types.errors import NotJsonError, StoreError, UsageError
from stretto.types.ids import Digest, digest_of
from stretto.types.learning import Array, ModelCall

if TYPE_CHECKING:
    import numpy as np

ARRAY_FIELDS: Final = ("prompt_ids", "completion_ids", "logprobs", "mask")
"""Fields of ModelCall that hold arrays."""

_TENSOR: Final = "array"
"""Name of the one tensor in a blob."""

_NUMBERS: Final = "biuf"
"""Kinds of numpy's types that are kept: booleans, integers, floats."""

_WIDEST_BYTES: Final = 8
"""safetensors knows no wider number."""


class ArrayRef(msgspec.Struct, frozen=True):
    """What stands in JSON for an array."""

    blob: Digest = msgspec.field(name="$blob")
    """SHA-256 of the safetensors file."""
    dtype: str
    """As numpy names it: ``int32``."""
    shape: tuple[int, ...]


Put: TypeAlias = Callable[[bytes], Digest]
"""Keeps a blob's content and names it."""

Get: TypeAlias = Callable[[Digest], bytes]
"""The content of a blob; raises StoreError when there is none."""


class BlobFolder:
    """Blobs as files ``<digest>.safetensors`` in one folder, which the first one makes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, content: bytes) -> Digest:
        digest = digest_of(content)
        path = self._path(digest)
        if not path.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return digest

    def get(self, digest: Digest) -> bytes:
        try:
            content = self._path(digest).read_bytes()
        except FileNotFoundError:
            raise StoreError(
                f"blob {digest} is not in {self._folder}; the record that names it was kept or copied without its blobs"
            ) from None
        if digest_of(content) != digest:
            raise StoreError(f"blob {self._path(digest)} is damaged: its content has another digest; export it again")
        return content

    def _path(self, digest: Digest) -> Path:
        return self._folder / f"{digest}.safetensors"


def misfit(value: object) -> str:
    """What a value is that cannot be kept as an array, in words; empty for one that can. Imports no numpy."""
    numpy = sys.modules.get("numpy")  # without it nobody has made an array
    if numpy is None or not isinstance(value, numpy.ndarray):
        return f"of type {type(value).__name__}"
    dtype = value.dtype
    is_number = dtype.kind in _NUMBERS and dtype.itemsize <= _WIDEST_BYTES
    return "" if is_number else f"an array of {dtype}"


def detach(step: StepRecord, put: Put | None) -> StepRecord:
    """The step with every array replaced by its reference, the arrays given to `put`; itself when it has none."""
    if not any(_is_array(value) for call in step.model_calls for value in _arrays(call).values()):
        return step
    if put is None:
        raise UsageError(f"step '{step.path}' holds arrays, and no place was given to keep them: pass put=")
    calls = tuple(
        msgspec.structs.replace(
            call, **{name: _pack(value, put) for name, value in _arrays(call).items() if _is_array(value)}
        )
        for call in step.model_calls
    )
    return msgspec.structs.replace(step, model_calls=calls)


def attach(step: StepRecord, get: Get) -> None:
    """Put the arrays back in place of their references."""
    if not any(isinstance(value, dict) for call in step.model_calls for value in _arrays(call).values()):
        return
    step.model_calls = tuple(
        msgspec.structs.replace(
            call, **{name: _unpack(value, get) for name, value in _arrays(call).items() if isinstance(value, dict)}
        )
        for call in step.model_calls
    )


def _arrays(call: ModelCall) -> dict[str, Any]:  # arrays, or their references as read from JSON
    return {name: value for name in ARRAY_FIELDS if (value := getattr(call, name)) is not None}


def _is_array(value: object) -> bool:
    return hasattr(value, "dtype")


def content_of(array: "np.ndarray[Any, np.dtype[Any]]") -> bytes:
    """The safetensors file that holds an array: equal arrays have equal bytes."""
    import numpy as np
    from safetensors.numpy import save

    return bytes(save({_TENSOR: np.ascontiguousarray(array)}))


def array_in(content: bytes) -> Array:
    """The array that such a file holds. Raises ValueError for what is none."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        tensors = load(content)
    except (SafetensorError, KeyError) as error:  # the latter for a type that numpy does not have
        raise ValueError(f"it is no safetensors file of numbers: {error}") from error
    if list(tensors) != [_TENSOR]:
        raise ValueError(f"it holds the tensors {sorted(tensors)!r:.200}; expected one, called '{_TENSOR}'")
    array = tensors[_TENSOR]
    return array.view("uint8") != 0 if array.dtype.kind == "b" else array  # a byte may be neither 0 nor 1


def _pack(array: "np.ndarray[Any, np.dtype[Any]]", put: Put) -> dict[str, Any]:
    wrong = misfit(array)
    if wrong:
        raise NotJsonError(f"a model call holds what is {wrong}; give a numpy array of numbers or booleans")
    digest = put(content_of(array))
    reference: dict[str, Any] = msgspec.to_builtins(ArrayRef(digest, array.dtype.name, array.shape))
    return reference


def _unpack(value: dict[str, Any], get: Get) -> Array:
    try:
        reference = msgspec.convert(value, ArrayRef)
        return array_in(get(reference.blob)).reshape(reference.shape)
    except (msgspec.ValidationError, ValueError) as error:
        raise StoreError(f"the record's array {value} cannot be read: {error}") from error
