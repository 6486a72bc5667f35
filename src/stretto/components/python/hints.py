"""From a type hint to a JSON Schema, and to the conversion that turns a JSON value into what the hint says.

Three levels, by what the hint holds. *Plain* hints are what JSON already is in Python: nothing is converted. Data
classes, Structs, enums, dates and the like go through msgspec, which is loaded anyway. Whatever pydantic defines, and
what msgspec does not know, goes through its `TypeAdapter`. What made the schema also reads and writes the values.
"""

import dataclasses
import typing
from collections.abc import Callable, MutableSequence, Sequence
from enum import IntEnum
from functools import reduce
from operator import or_
from typing import Any, Final, TypeAlias, cast

import msgspec

from stretto.components.python.adapter import HintError, Mode, adapter_reader, adapter_schema, adapter_writer
from stretto.components.python.refs import inlined
from stretto.components.python.whole import FIELD_MARKS, MAPPINGS, UNIONS, alternatives, holds_int, whole
from stretto.components.python.written import Write, is_text, snapshot_writes, written
from stretto.types.json import Json, JsonObject

Convert: TypeAlias = Callable[[Any], Any]
"""Turns a JSON value that fits the schema into an instance; raises ValueError or msgspec.ValidationError."""


class Level(IntEnum):
    """What a hint needs; that of a compound is the highest of its parts."""

    PLAIN = 0
    MSGSPEC = 1
    PYDANTIC = 2


class Codec(msgspec.Struct, frozen=True):
    """How values of one hint come in."""

    schema: JsonObject
    convert: Convert | None
    """None when a JSON value already is what the hint says."""
    mends: Any = None
    """The hint of a list or mapping with ints inside that is JSON else: a float in it may have to become one."""


class Writer(msgspec.Struct, frozen=True):
    """How values of one hint go out."""

    schema: JsonObject
    write: Write | None
    """None when the engine's snapshot writes them as the schema says."""


_PLAIN: Final = (None, type(None), bool, int, float, str, list, dict, Any, object)
_PLAIN_CONTAINERS: Final = (list, *MAPPINGS, Sequence, MutableSequence)
_NO_KEYS: Final = (tuple, frozenset, type(None), None)
"""What a Python mapping has for keys and text cannot stand for."""


def codec_of(hint: Any) -> Codec:
    """How a parameter of this hint is read.

    Raises HintError when no JSON value fits it, NameError when a name in it is not defined.
    """
    hint = _without_object(hint)
    level = level_of(hint)
    if level is not Level.PYDANTIC and _has_late_fields(hint, set()):
        level = Level.PYDANTIC
    schema, level = _schema(hint, level, "validation")
    if level is Level.PYDANTIC:
        return Codec(schema, adapter_reader(hint))
    if level is Level.MSGSPEC:
        return Codec(schema, _msgspec_reader(hint))
    return Codec(schema, None, hint if holds_int(hint) else None)


def writer_of(hint: Any) -> Writer:
    """The schema of what a value of this hint encodes to, and the encoding. Raises as `codec_of` does."""
    hint = _without_object(hint)
    schema, level = _schema(hint, level_of(hint), "serialization")
    if snapshot_writes(hint):
        return Writer(schema, None)
    return Writer(schema, adapter_writer(hint) if level is Level.PYDANTIC else written)


def _msgspec_reader(hint: Any) -> Convert:
    def read(value: Any) -> Any:
        try:
            return msgspec.convert(value, hint, str_keys=True)
        except msgspec.ValidationError:
            return msgspec.convert(whole(value, hint), hint, str_keys=True)

    return read


def level_of(hint: Any, inside: frozenset[Any] = frozenset()) -> Level:
    """What reading a value of this hint needs. Raises HintError for classes, and for keys that no text can
    stand for."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is type or origin is type:
        raise HintError("a class is no value that JSON could hold")
    if origin is typing.Annotated:
        base, *notes = arguments
        known = all(isinstance(note, (msgspec.Meta, str)) for note in notes)
        return level_of(base, inside) if known else Level.PYDANTIC
    if origin is typing.Literal or isinstance(hint, typing.TypeVar):
        return Level.PLAIN
    if origin in UNIONS or origin in FIELD_MARKS:
        return _highest(arguments, inside)
    if origin in MAPPINGS and arguments:
        return max(_level_of_key(arguments[0]), _highest(arguments, inside))
    if origin is not None and origin is not hint:  # that of `Generic` is itself
        return max(level_of(origin, inside), _highest(arguments, inside))
    if isinstance(hint, typing.NewType):
        return level_of(hint.__supertype__, inside)
    if any(hint is plain for plain in (*_PLAIN, *_PLAIN_CONTAINERS)):
        return Level.PLAIN
    return _level_of_type(hint, inside)


def _level_of_key(hint: Any) -> Level:
    parts = [typing.get_origin(part) or part for part in alternatives(hint)]
    for part in parts:
        if part in _NO_KEYS:
            raise HintError(f"a JSON object has text for keys, and {getattr(part, '__name__', part)} has no text form")
    if is_text(hint):
        return Level.PLAIN
    return Level.PYDANTIC if bool in parts else Level.MSGSPEC  # msgspec has no text for a bool


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


def _has_late_fields(hint: Any, seen: set[Any]) -> bool:
    """Whether a data class in the hint has a field that only its `__post_init__` sets: msgspec would ask for it."""
    for part in alternatives(hint):
        kind = typing.get_origin(part) or part
        if any(_has_late_fields(argument, seen) for argument in typing.get_args(part)):
            return True
        if not isinstance(kind, type) or kind in seen or not (_has_fields(kind) or typing.is_typeddict(kind)):
            continue
        seen.add(kind)
        if dataclasses.is_dataclass(kind) and any(map(_is_late, dataclasses.fields(kind))):
            return True
        if any(_has_late_fields(field, seen) for field in typing.get_type_hints(kind).values()):
            return True
    return False


def _is_late(field: dataclasses.Field[Any]) -> bool:
    missing = dataclasses.MISSING
    return not field.init and field.default is missing and field.default_factory is missing


def _schema(hint: Any, level: Level, mode: Mode) -> tuple[JsonObject, Level]:
    """The schema, and the level that could make it: what msgspec does not know, pydantic may."""
    if level is not Level.PYDANTIC:
        try:
            schema = msgspec.json.schema(hint)
        except (TypeError, ValueError, AttributeError, RecursionError):
            level = Level.PYDANTIC
        else:
            if mode == "serialization":
                _require_defaulted(schema, hint)
            return inlined(schema), level
    return inlined(adapter_schema(hint, mode)), level


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
    return reduce(or_, replaced) if origin in UNIONS else origin[replaced]


def _require_defaulted(schema: JsonObject, hint: Any) -> None:
    """Mark fields with defaults as required: reading may leave them out, but encoding an instance never does.

    msgspec has one schema for both; pydantic, asked as `adapter_schema` does, tells them apart by mode.
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
