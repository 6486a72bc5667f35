"""How a function's value is written where its hint is more than the engine's snapshot writes by itself."""

import dataclasses
import typing
from collections.abc import Callable, MutableSequence, Sequence
from datetime import date, datetime, time
from enum import Enum
from typing import Any, Final, TypeAlias
from uuid import UUID

import msgspec

from stretto.components.python.whole import FIELD_MARKS, MAPPINGS, UNIONS, alternatives
from stretto.record.refusal import to_plain

Write: TypeAlias = Callable[[Any], Any]
"""Turns a function's value into JSON; raises TypeError or ValueError for what its hint did not say."""

_SNAPSHOT_LEAVES: Final = (None, type(None), bool, int, float, str, datetime, date, time, UUID, Any, object)
"""What the snapshot writes itself, or refuses by what it meets."""

_SNAPSHOT_LISTS: Final = (list, tuple, Sequence, MutableSequence)


def snapshot_writes(hint: Any, inside: frozenset[Any] = frozenset()) -> bool:
    """Whether the engine's snapshot writes every value of a hint as the hint's schema says."""
    if hint is ... or isinstance(hint, typing.TypeVar) or any(hint is leaf for leaf in _SNAPSHOT_LEAVES):
        return True
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return True
    if origin is typing.Annotated:
        base, *notes = arguments
        return snapshot_writes(base, inside) and not any(map(_rewrites, notes))
    if origin in UNIONS or origin in FIELD_MARKS:
        return all(snapshot_writes(argument, inside) for argument in arguments)
    if isinstance(hint, typing.NewType):
        return snapshot_writes(hint.__supertype__, inside)
    if hasattr(hint, "__value__"):  # a `type X = ...` of Python 3.12
        return hint in inside or snapshot_writes(hint.__value__, inside | {hint})
    kind = origin or hint
    if kind in MAPPINGS:
        return not arguments or (is_text(arguments[0]) and snapshot_writes(arguments[1], inside))
    if kind in _SNAPSHOT_LISTS:
        return all(snapshot_writes(argument, inside) for argument in arguments)
    return isinstance(kind, type) and _snapshot_writes_instances(kind, arguments, inside)


def _snapshot_writes_instances(kind: type, arguments: tuple[Any, ...], inside: frozenset[Any]) -> bool:
    if hasattr(kind, "model_dump") or issubclass(kind, Enum):
        return True
    is_record = dataclasses.is_dataclass(kind) or issubclass(kind, msgspec.Struct) or hasattr(kind, "_fields")
    if hasattr(kind, "__pydantic_validator__") or not (is_record or typing.is_typeddict(kind)):
        return False
    fields = () if kind in inside else typing.get_type_hints(kind, include_extras=True).values()
    return all(snapshot_writes(hint, inside | {kind}) for hint in (*arguments, *fields))


def _rewrites(note: Any) -> bool:
    """Whether an annotation of pydantic's has values written otherwise than their type, or under another name."""
    renames = getattr(note, "alias", None) or getattr(note, "serialization_alias", None)
    return bool(renames) or hasattr(note, "__get_pydantic_core_schema__")


def is_text(key: Any) -> bool:
    """Whether a mapping's keys of this hint are text already."""
    for part in alternatives(key):
        texts = typing.get_origin(part) is typing.Literal and all(type(each) is str for each in typing.get_args(part))
        if not (texts or part is str or part is Any or part is object or isinstance(part, typing.TypeVar)):
            return False
    return True


def written(value: Any) -> Any:
    """The value as msgspec's schemas have it: sets as sorted lists, bytes as base64, durations as ISO 8601, keys as
    text."""
    if isinstance(value, dict):
        return {_key(key): written(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return [written(item) for item in _in_order(value)]
    if isinstance(value, (list, tuple)):
        return [written(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):  # msgspec leaves out what no instance holds
        return {field.name: written(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return msgspec.to_builtins(value, str_keys=True, builtin_types=(datetime, date, time, UUID), enc_hook=to_plain)


def _key(key: Any) -> str:
    if type(key) is str:
        return key
    (text,) = msgspec.to_builtins({key: None}, str_keys=True)
    return str(text)


def _in_order(items: set[Any] | frozenset[Any]) -> list[Any]:
    """Sorted where they can be: the order of a set of texts is another in each process, and runs must repeat."""
    try:
        return sorted(items)
    except TypeError:
        return list(items)
