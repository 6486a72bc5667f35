"""From a type hint to a JSON Schema, and to the conversion that turns a JSON value into what the hint says.

Three levels, by what the hint holds. *Plain* hints are what JSON already is in Python: nothing is converted. Data
classes, Structs, enums, dates and the like go through msgspec, which is loaded anyway. Whatever pydantic defines
goes through its `TypeAdapter`; the user's file has then imported pydantic already, so nobody else pays its 0.2 s.
"""

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from enum import IntEnum
from functools import reduce
from operator import or_
from typing import Any, Final, TypeAlias, cast

import msgspec

from stretto.components.python.refs import inlined
from stretto.types.json import Json, JsonObject

Convert: TypeAlias = Callable[[Any], Any]
"""Turns a JSON value that fits the schema into an instance; raises ValueError or msgspec.ValidationError."""


class Level(IntEnum):
    """What a hint needs; that of a compound is the highest of its parts."""

    PLAIN = 0
    MSGSPEC = 1
    PYDANTIC = 2


class Codec(msgspec.Struct, frozen=True):
    """How values of one hint cross the boundary."""

    schema: JsonObject
    convert: Convert | None
    """None when a JSON value already is what the hint says."""


class HintError(Exception):
    """No JSON value fits a hint; the text says why."""


_PLAIN: Final = (None, type(None), bool, int, float, str, list, dict, Any, object)
_PLAIN_CONTAINERS: Final = (list, dict, Mapping, MutableMapping, Sequence, MutableSequence)
_UNIONS: Final = (typing.Union, types.UnionType)
_FIELD_MARKS: Final = (typing.Required, typing.NotRequired)


def codec_of(hint: Any) -> Codec:
    """How a parameter of this hint is read.

    Raises HintError when no JSON value fits it, NameError when a name in it is not defined.
    """
    hint = _without_object(hint)
    schema, level = _schema(hint, level_of(hint), "validation")
    if level is Level.PLAIN:
        return Codec(schema, None)
    if level is Level.MSGSPEC:
        return Codec(schema, lambda value: msgspec.convert(value, hint, str_keys=True))
    return Codec(schema, _adapter(hint).validate_python)


def output_schema_of(hint: Any) -> JsonObject:
    """The schema of what a value of this hint encodes to. Raises as `codec_of` does."""
    hint = _without_object(hint)
    schema, _ = _schema(hint, level_of(hint), "serialization")
    return schema


def level_of(hint: Any, inside: frozenset[Any] = frozenset()) -> Level:
    """What reading a value of this hint needs."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        base, *notes = arguments
        known = all(isinstance(note, (msgspec.Meta, str)) for note in notes)
        return level_of(base, inside) if known else Level.PYDANTIC
    if origin is typing.Literal or isinstance(hint, typing.TypeVar):
        return Level.PLAIN
    if origin in _UNIONS or origin in _FIELD_MARKS:
        return _highest(arguments, inside)
    if origin is not None:
        return max(level_of(origin, inside), _highest(arguments, inside))
    if isinstance(hint, typing.NewType):
        return level_of(hint.__supertype__, inside)
    if any(hint is plain for plain in (*_PLAIN, *_PLAIN_CONTAINERS)):
        return Level.PLAIN
    return _level_of_type(hint, inside)


def _level_of_type(hint: Any, inside: frozenset[Any]) -> Level:
    if hasattr(hint, "__value__"):  # a `type X = ...` of Python 3.12
        return Level.PLAIN if hint in inside else level_of(hint.__value__, inside | {hint})
    if not isinstance(hint, type) or hint is Ellipsis:
        return Level.MSGSPEC
    if hasattr(hint, "__get_pydantic_core_schema__") or hasattr(hint, "__pydantic_validator__"):
        return Level.PYDANTIC
    own = Level.PLAIN if typing.is_typeddict(hint) else Level.MSGSPEC
    if hint in inside or not (own is Level.PLAIN or _has_fields(hint)):
        return own
    fields = typing.get_type_hints(hint, include_extras=True)
    return max(own, _highest(fields.values(), inside | {hint}))


def _highest(hints: Any, inside: frozenset[Any]) -> Level:
    return max((level_of(hint, inside) for hint in hints if hint is not ...), default=Level.PLAIN)


def _has_fields(hint: type) -> bool:
    return dataclasses.is_dataclass(hint) or issubclass(hint, msgspec.Struct) or hasattr(hint, "_fields")


def _schema(hint: Any, level: Level, mode: typing.Literal["validation", "serialization"]) -> tuple[JsonObject, Level]:
    """The schema, and the level that could make it: what msgspec does not know, pydantic may."""
    if level is not Level.PYDANTIC:
        try:
            schema = msgspec.json.schema(hint)
        except TypeError:
            level = Level.PYDANTIC
        else:
            if mode == "serialization":
                _require_defaulted(schema, hint)
            return inlined(schema), level
    by_alias = mode == "validation"  # a model is encoded by the names of its fields, as `model_dump` does
    schema = _adapter(hint).json_schema(mode=mode, by_alias=by_alias, schema_generator=_schema_generator())
    return inlined(schema), level


def _without_object(hint: Any) -> Any:
    """The hint with ``Any`` for ``object``: careful users write ``dict[str, object]``, which msgspec does not know."""
    if hint is object:
        return Any
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Literal, typing.Annotated):
        return hint
    replaced = tuple(_without_object(argument) for argument in arguments)
    if replaced == arguments:
        return hint
    return reduce(or_, replaced) if origin in _UNIONS else origin[replaced]


def _adapter(hint: Any) -> Any:  # TypeAdapter; pydantic's types must not be imported for users who do not use it
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        return TypeAdapter(hint)
    except PydanticUserError as error:
        raise HintError(str(error).splitlines()[0]) from error


def _schema_generator() -> Any:  # a subclass of pydantic's GenerateJsonSchema
    from pydantic.json_schema import GenerateJsonSchema

    class EncodesEveryField(GenerateJsonSchema):
        """Requires of an output every field of a model, as its encoding holds them all."""

        def field_is_required(self, field: Any, total: bool) -> bool:
            always = self.mode == "serialization" and field["type"] != "typed-dict-field"
            return always or super().field_is_required(field, total)

    return EncodesEveryField


def _require_defaulted(schema: JsonObject, hint: Any) -> None:
    """Mark fields with defaults as required: reading may leave them out, but encoding an instance never does.

    msgspec has one schema for both; pydantic, asked as `_schema_generator` does, tells them apart by mode.
    """
    records = {record.__name__ for record in _records(hint, set())}
    definitions = cast("dict[str, dict[str, Json]]", schema.get("$defs", {}))
    for name, definition in definitions.items():
        if name in records and isinstance(properties := definition.get("properties"), dict):
            definition["required"] = list(properties)


def _records(hint: Any, found: set[type]) -> set[type]:
    """Every data class and Struct in a hint whose encoding holds all of its fields."""
    for argument in typing.get_args(hint):
        _records(argument, found)
    if isinstance(hint, type) and _has_fields(hint) and hint not in found:
        if not (issubclass(hint, msgspec.Struct) and hint.__struct_config__.omit_defaults):
            found.add(hint)
        for field in typing.get_type_hints(hint).values():
            _records(field, found)
    return found
