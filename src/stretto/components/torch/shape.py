"""What a tensor is beside its batch: annotations that give it a JSON form."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final, TypeAlias

from stretto.components.codes import ComponentCode
from stretto.types.card import Real, Tensor
from stretto.types.errors import Problem, SpecError
from stretto.types.json import Json, JsonObject


class DType(StrEnum):
    """Element types that have a JSON form, by torch's names."""

    FLOAT32 = "float32"
    FLOAT64 = "float64"
    INT64 = "int64"

    @property
    def is_real(self) -> bool:
        """Whether gradients pass through it."""
        return self is not DType.INT64


_REAL: Final = {DType.FLOAT32: Real.F32, DType.FLOAT64: Real.F64}


class Shape:
    """One row of a tensor: its dimensions without the batch's, none for a number. ``Shape(6, 4)`` is ``[B, 6, 4]``.

    In JSON it is lists of numbers, of exactly these lengths.
    """

    __slots__ = ("absent", "dims", "dtype")

    def __init__(self, *dims: int, dtype: str = DType.FLOAT32, absent: float | None = None) -> None:
        """`absent` is the number that stands at every place where null is read; without it null is refused.

        Raises SpecError for a dimension that is no whole number above 0, or another element type.
        """
        if not all(type(dim) is int and dim > 0 for dim in dims):
            raise _refused(f"Shape{dims!r} has a dimension that is no size", "whole numbers above 0; none for a number")
        if dtype not in list(DType):
            raise _refused(f"dtype={dtype!r} of a Shape has no JSON form", f"one of {', '.join(DType)}")
        self.dims: Final = dims
        self.dtype: Final = DType(dtype)
        self.absent: Final = absent

    @property
    def schema(self) -> JsonObject:
        """The JSON Schema of one row."""
        schema: JsonObject = {"type": "number" if self.dtype.is_real else "integer"}
        for dim in reversed(self.dims):
            schema = {"type": "array", "items": schema, "minItems": dim, "maxItems": dim}
        return schema if self.absent is None else {**schema, "type": [schema["type"], "null"]}

    @property
    def filled(self) -> Json:
        """The row that stands where null is read."""
        row: Json = self.absent
        for dim in reversed(self.dims):
            row = [row] * dim
        return row

    def field(self, name: str) -> Tensor:
        """As a card tells of a field; for real numbers."""
        return Tensor(name=name, shape=self.dims, dtype=_REAL[self.dtype])

    def __repr__(self) -> str:
        told = [str(dim) for dim in self.dims]
        told += [f"dtype={str(self.dtype)!r}"] if self.dtype is not DType.FLOAT32 else []
        told += [f"absent={self.absent}"] if self.absent is not None else []
        return f"Shape({', '.join(told)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Shape):
            return NotImplemented
        return (self.dims, self.dtype, self.absent) == (other.dims, other.dtype, other.absent)

    def __hash__(self) -> int:
        return hash((self.dims, self.dtype, self.absent))


class Spelt(Shape):
    """Tokens of a text, at most so many; in JSON the text."""

    __slots__ = ("_spell",)

    def __init__(self, most: int, spell: Callable[[Sequence[int]], str]) -> None:
        """`spell` tells the text of one row."""
        super().__init__(most, dtype=DType.INT64)
        self._spell: Final = spell

    @property
    def schema(self) -> JsonObject:
        """Any text."""
        return {"type": "string"}

    def text(self, tokens: Sequence[int]) -> str:
        """Of one row."""
        return self._spell(tokens)

    def __repr__(self) -> str:
        return f"Spelt({self.dims[0]})"


class OneOf:
    """A choice among named alternatives as a tensor: one-hot, ``[B, A]``; in JSON the name."""

    __slots__ = ("alternatives",)

    def __init__(self, *alternatives: str) -> None:
        """Raises SpecError for fewer than two names, or one twice."""
        self.alternatives: Final = checked_alternatives("OneOf", alternatives)

    @property
    def schema(self) -> JsonObject:
        """The JSON Schema of one row."""
        return {"type": "string", "enum": [*self.alternatives]}

    def __repr__(self) -> str:
        return f"OneOf({', '.join(map(repr, self.alternatives))})"

    def __eq__(self, other: object) -> bool:
        return self.alternatives == other.alternatives if isinstance(other, OneOf) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.alternatives)


Tensorial: TypeAlias = Shape | OneOf
"""What an input that carries a gradient may be."""


def checked_alternatives(what: str, names: Sequence[str]) -> tuple[str, ...]:
    """Two or more names, each once; SpecError otherwise."""
    is_named = all(isinstance(name, str) and name for name in names)
    if len(names) < 2 or not is_named or len(set(names)) < len(names):
        raise _refused(f"{what} has the alternatives {list(names)}", "two or more names, each once")
    return tuple(names)


def _refused(message: str, expected: str) -> SpecError:
    """At the line that made it, which the loading of the file knows."""
    return SpecError([Problem(code=ComponentCode.OPTION, message=message, expected=expected)])
