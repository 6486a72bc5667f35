"""Where everything of a fixed-width record stands. Raises UsageError for what cannot be laid out."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, TypeAlias

import msgspec

from stretto.components.exec.codec_of import wrong_field
from stretto.components.exec.declared_field import Field
from stretto.components.exec.levels import Level, levels_of, width_of
from stretto.components.exec.message import LineEnd, Message
from stretto.components.exec.slots import Slot
from stretto.components.exec.zoned import Digits
from stretto.types.errors import UsageError
from stretto.types.json import render_path

MAX_PLACES: Final = 100_000
"""Of one record; a table of tables beyond that is a slip of the keyboard."""

Path: TypeAlias = tuple[str | int, ...]
"""Where a value stands in JSON."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Some bytes of a record that are one value, a constant, or nothing."""

    path: Path
    offset: int
    width: int
    slot: Slot | None
    """None for a constant and a filler."""
    constant: bytes | None
    """None for a value and a filler."""

    @property
    def end(self) -> int:
        return self.offset + self.width


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """What occurs several times."""

    path: Path
    occurs: int
    optional: bool
    """Items at its end that are empty are left out."""


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """A record, laid out."""

    levels: tuple[Level, ...]
    places: tuple[Place, ...]
    """In the order in which they stand."""
    tables: tuple[Table, ...]
    """Outer ones first."""
    groups: Mapping[Path, frozenset[str]]
    """The names in each group; in the record itself at the empty path."""
    length: int
    line_end: LineEnd
    blank: bytes
    """A space."""


def lay_out(message: Message) -> Layout:
    """Give each field its bytes, in sequence where it has no offset of its own."""
    encoding = message.encoding or "utf-8"
    levels = levels_of(message.fields, encoding, Digits(encoding, message.overpunch))
    tables: list[Table] = []
    groups: dict[Path, frozenset[str]] = {}
    places: list[Place] = []
    for place in _places(levels, 0, (), tables, groups):
        places.append(place)
        if len(places) > MAX_PLACES:
            raise UsageError(f"a record has more than {MAX_PLACES:,} values; split it")
    places.sort(key=lambda place: place.offset)
    _check_apart(places)
    end = width_of(levels)
    length = end if message.length is None else message.length
    if length < end:
        raise UsageError(f"`length` is {length}, and the last field ends after {end} bytes")
    return Layout(
        levels=levels,
        places=tuple(places),
        tables=tuple(tables),
        groups=groups,
        length=length,
        line_end=_line_end(message, encoding),
        blank=" ".encode(encoding),
    )


def _places(
    levels: Sequence[Level], start: int, path: Path, tables: list[Table], groups: dict[Path, frozenset[str]]
) -> Iterator[Place]:
    groups[path] = frozenset(level.field.name for level in levels if level.field.name)
    at = start
    for level in levels:
        field = level.field
        at = at if field.offset is None else start + field.offset
        own = (*path, field.name)
        if field.occurs > 1 and field.name:
            tables.append(Table(path=own, occurs=field.occurs, optional=field.optional))
        for item in range(field.occurs):
            where = (*own, item) if field.occurs > 1 else own
            if level.inner:
                yield from _places(level.inner, at, where, tables, groups)
            else:
                yield Place(path=where, offset=at, width=level.width, slot=level.slot, constant=level.constant)
            at += level.width


def _check_apart(places: Sequence[Place]) -> None:
    for place, after in pairwise(places):
        if after.offset < place.end:
            raise UsageError(
                f"{described(after.path)} begins at offset {after.offset}, inside {described(place.path)}, which ends "
                f"after {place.end} bytes"
            )


def described(path: Path) -> str:
    """A place, by where its value stands in JSON."""
    return "a constant" if path[-1] == "" else f"field '{render_path(path)}'"


def _line_end(message: Message, encoding: str) -> LineEnd:
    """Refuses a line end that data may hold, and takes none where none is declared."""
    packed = next((f for f in _leaves(message.fields) if f.picture is not None and f.picture.packed), None)
    is_ascii = "\n ".encode(encoding) == b"\n "
    if message.line_end is None:
        return LineEnd.LF if packed is None and is_ascii else LineEnd.NONE
    if message.line_end is not LineEnd.NONE and packed is not None:
        raise wrong_field(packed, "is packed and may hold the byte of a line end; leave `line_end` out, or: none")
    if message.line_end is not LineEnd.NONE and not is_ascii:
        raise UsageError(f"{encoding} has line ends of its own; leave `line_end` out: records end after their length")
    return message.line_end


def _leaves(fields: Sequence[Field]) -> Iterator[Field]:
    for field in fields:
        yield from _leaves(field.fields) if field.fields else (field,)
