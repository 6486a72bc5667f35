"""Whole-valued floats: JSON Schema takes 2.0 for an integer, Python's `range` does not.

Nearly every value fits, so what is paid for each call is one look, in C where there is much to look at. Only a value
that holds such a float is rebuilt.
"""

import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping, MutableSequence, Sequence
from enum import Enum
from typing import Any, Final

import msgspec

UNIONS: Final = (typing.Union, types.UnionType)
FIELD_MARKS: Final = (typing.Required, typing.NotRequired)
MAPPINGS: Final = (dict, Mapping, MutableMapping)
LISTS: Final = (list, Sequence, MutableSequence, Collection, Iterable, set, frozenset)


def alternatives(hint: Any) -> tuple[Any, ...]:
    """The hints that a value may fit, one of them: unions, aliases and annotations taken apart."""
    origin = typing.get_origin(hint)
    if origin is typing.Annotated or origin in FIELD_MARKS:
        return alternatives(typing.get_args(hint)[0])
    if origin in UNIONS:
        return tuple(one for argument in typing.get_args(hint) for one in alternatives(argument))
    if isinstance(hint, typing.NewType):
        return alternatives(hint.__supertype__)
    if hasattr(hint, "__value__"):  # a `type X = ...` of Python 3.12
        return alternatives(hint.__value__)
    return (hint,)


def is_int(hint: Any) -> bool:
    """Whether a whole number that fits the hint must be an int: no part of it takes a float as well."""
    parts = alternatives(hint)
    return any(map(_is_integral, parts)) and not any(part is float or _is_open(part) for part in parts)


def holds_int(hint: Any, inside: frozenset[Any] = frozenset()) -> bool:
    """Whether a list or mapping of this hint has a place for an int."""
    for part in alternatives(hint):
        if part in inside:
            continue
        fields = typing.get_type_hints(part).values() if typing.is_typeddict(part) else typing.get_args(part)
        if typing.get_origin(part) is not typing.Literal and any(
            is_int(field) or holds_int(field, inside | {part}) for field in fields
        ):
            return True
    return False


def whole(value: Any, hint: Any) -> Any:
    """The value with an int for each whole-valued float where the hint wants one; itself where it holds none."""
    if type(value) is float:
        return int(value) if value.is_integer() and is_int(hint) else value
    if type(value) is list:
        return [whole(item, _within(hint, index)) for index, item in enumerate(value)]
    if type(value) is dict:
        return {key: whole(item, _within(hint, key)) for key, item in value.items()}
    return value


def misfit(hints: Mapping[str, Any]) -> Callable[[Any], bool] | None:
    """Tells whether fields do not fit their hints as they stand, which are JSON with ints inside; None without any."""
    if not hints:
        return None
    fields = [(name, hint | msgspec.UnsetType, msgspec.UNSET) for name, hint in hints.items()]
    # what msgspec knows of a Struct it looks up only once
    shape = msgspec.defstruct("Fields", fields)
    convert = msgspec.convert

    def breaks(given: Any) -> bool:
        try:
            convert(given, shape)
        except msgspec.ValidationError:
            return True
        return False

    return breaks


def _is_integral(part: Any) -> bool:
    if part is int:
        return True
    if typing.get_origin(part) is typing.Literal:
        return any(type(value) is int for value in typing.get_args(part))
    return isinstance(part, type) and issubclass(part, Enum) and any(type(each.value) is int for each in part)


def _is_open(part: Any) -> bool:
    """Whether a hint takes anything."""
    return part is Any or part is object or isinstance(part, typing.TypeVar)


def _within(hint: Any, key: int | str) -> Any:
    """The hint of what stands at an index or key: of all that it may be there, where the alternatives differ."""
    found = [one for part in alternatives(hint) for one in _item_hints(part, key)]
    return typing.Union[tuple(found)] if found else Any  # noqa: UP007  # `|` knows no string and no None alone


def _item_hints(part: Any, key: int | str) -> list[Any]:
    origin, arguments = typing.get_origin(part) or part, typing.get_args(part)
    if _is_open(part):
        return [Any]
    if isinstance(key, int):
        if origin is tuple and arguments and arguments[-1] is not ...:
            return list(arguments[key : key + 1])
        if hasattr(origin, "_fields"):
            return list(typing.get_type_hints(origin).values())[key : key + 1]
        return [arguments[0] if arguments else Any] if origin in (*LISTS, tuple) else []
    if origin in MAPPINGS:
        return [arguments[1] if arguments else Any]
    if isinstance(origin, type) and issubclass(origin, msgspec.Struct):
        return [field.type for field in msgspec.structs.fields(origin) if field.encode_name == key]
    known = typing.get_type_hints(origin) if isinstance(origin, type) else {}
    return [known[key]] if key in known else []
