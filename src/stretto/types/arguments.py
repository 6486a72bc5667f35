"""What a caller gave, held to what was asked for: a program need not be type-checked to be told what is wrong."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from stretto.types.errors import UsageError

_T = TypeVar("_T")

INT64_MIN: Final = -(2**63)
INT64_MAX: Final = 2**63 - 1
"""What JSON integers of a record and the store's columns can hold."""

_SHOWN_CHARS: Final = 80
"""Of a refused value: enough to know it again."""


def wrong(what: str, value: object, expected: str) -> UsageError:
    """The error for an argument that is something else than was asked for."""
    return UsageError(f"{what} is {shown(value)}; expected {expected}")


def shown(value: object) -> str:
    """A value as an error quotes it."""
    try:
        text = repr(value)
    except Exception as broken:  # noqa: BLE001  # the class of a wrong value may do anything
        return f"a {type(value).__name__} (its repr raised {type(broken).__name__})"
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"


def check_text(what: str, value: object, expected: str = "text") -> None:
    """Raise UsageError unless it is text that UTF-8 can hold."""
    if not isinstance(value, str):
        raise wrong(what, value, expected)
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise UsageError(f"{what} is {shown(value)}, which is no text in UTF-8: {error.reason}") from error


def check_whole(what: str, value: object, *, least: int = INT64_MIN, most: int = INT64_MAX) -> None:
    """Raise UsageError unless it is a whole number from `least` to `most`."""
    if type(value) is not int or not least <= value <= most:
        above = "" if most == INT64_MAX else f" to {most:,}"
        expected = "a whole number of 64 bits" if least == INT64_MIN else f"a whole number from {least:,}{above}"
        raise wrong(what, value, expected)


def check_flag(what: str, value: object) -> None:
    """Raise UsageError unless it is True or False."""
    if not isinstance(value, bool):
        raise wrong(what, value, "True or False")


def as_path(what: str, value: object) -> Path:
    """A path given as text or as a path; raises UsageError for anything else, and for an empty one."""
    if not isinstance(value, str | os.PathLike) or not isinstance(os.fspath(value), str) or not str(value):
        raise wrong(what, value, "text or a pathlib.Path, not empty")
    if "\0" in str(value):
        raise wrong(what, value, "a path, which holds no NUL")
    return Path(value)


def as_tuple(
    what: str, value: object, expected: str = "a list"
) -> tuple[Any, ...]:  # Any: whoever asked knows what is in it, or looks
    """A list's items; raises UsageError for one text, which Python would take for its characters, and for no list."""
    return tuple(as_items(what, value, expected))


def as_items(what: str, value: object, expected: str = "a list") -> Iterable[Any]:  # Any: as of `as_tuple`
    """The same without holding all of them at once: for what a store reads a page at a time."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise wrong(what, value, expected)
    return value


def as_several(what: str, value: object, kind: type[_T], expected: str, each_expected: str) -> tuple[_T, ...]:
    """A list's items, all of one class; raises UsageError for no list, and for the first that is another."""
    given = as_tuple(what, value, expected)
    for number, each in enumerate(given):
        if not isinstance(each, kind):
            raise wrong(f"{what}[{number}]", each, each_expected)
    return given


def check_fields(what: str, record: msgspec.Struct) -> None:
    """Raise UsageError for the first field of a record whose value is not of its type."""
    try:
        msgspec.convert(msgspec.structs.asdict(record), type(record), from_attributes=True)
    except msgspec.ValidationError as error:
        raise UsageError(f"{what}: {error}") from error


def hold_fields(of: str, record: msgspec.Struct) -> None:
    """Hold each field that is set to its type, such as a mapping that stands for a record of options.

    `of` stands before the names of fields. Raises UsageError for the first value that is not of its type.
    """
    for field in msgspec.structs.fields(record):
        value = getattr(record, field.name)
        if value is msgspec.UNSET:
            continue
        try:
            held = msgspec.convert(value, field.type)
        except msgspec.ValidationError as error:
            reason = str(error)
            raise UsageError(f"{of}{field.name} is {shown(value)}; {reason[0].lower()}{reason[1:]}") from error
        msgspec.structs.force_setattr(record, field.name, held)
