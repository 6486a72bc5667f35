"""Where everything of a fixed-width record stands. Raises UsageError for what cannot be laid out."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Final, TypeAlias

import msgspec

from stretto.components.exec.codec_of import wrong_field
from stretto.components.exec.declared_field import Field
from stretto.components.exec.levels import Level, levels_of, width_of
from stretto.components.exec.message import LineEnd, Message
from stretto.components.exec.picture import Sign
from stretto.components.exec.slots import Slot
from stretto.components.exec.texts import is_ebcdic
from stretto.components.exec.zoned import Digits, Overpunch
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
    ending: bytes
    """What stands behind it; nothing where records follow each other."""
    breaks: tuple[bytes, ...]
    """What its values cannot hold, since a line ends at it; empty where records are told apart by their length."""
    blank: bytes
    """A space."""


def lay_out(message: Message) -> Layout:
    """Give each field its bytes, in sequence where it has no offset of its own."""
    encoding = message.encoding or "utf-8"
    levels = levels_of(message.fields, encoding, Digits(encoding, message.overpunch or Overpunch.IBM))
    tables: list[Table] = []
    groups: dict[Path, frozenset[str]] = {}
    places = _in_order(_places(levels, 0, (), tables, groups))
    line_end, is_by_length = _line_end(message, encoding)
    return Layout(
        levels=levels,
        places=places,
        tables=tuple(tables),
        groups=groups,
        length=_length(message, width_of(levels)),
        ending=line_end.text.encode(encoding),
        breaks=() if is_by_length else _BREAKS[line_end],
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


def _in_order(places: Iterator[Place]) -> tuple[Place, ...]:
    """All of them as they stand. Raises UsageError for too many, and for one inside another."""
    found = list(islice(places, MAX_PLACES + 1))
    if len(found) > MAX_PLACES:
        raise UsageError(f"a record has more than {MAX_PLACES:,} values; split it")
    found.sort(key=lambda place: place.offset)
    _check_apart(found)
    return tuple(found)


def _length(message: Message, end: int) -> int:
    length = end if message.length is None else message.length
    if length < end:
        raise UsageError(f"`length` is {length}, and the last field ends after {end} bytes")
    return length


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


_BREAKS: Final = {LineEnd.LF: (b"\n", b"\r"), LineEnd.CRLF: (b"\n", b"\r"), LineEnd.NEL: (b"\x15",), LineEnd.NONE: ()}
"""Of what is written in each. A carriage return ends a line for many, whatever was meant."""


def _line_end(message: Message, encoding: str) -> tuple[LineEnd, bool]:
    """What stands behind each record, and whether its length alone says where it ends: where data may hold the bytes of
    a line end, and where there is none."""
    raw = next((f for f in _leaves(message.fields) if f.picture is not None and not f.picture.is_text), None)
    if message.line_end is None:
        line_end = LineEnd.LF if raw is None and not is_ebcdic(encoding) else LineEnd.NONE
        return line_end, line_end is LineEnd.NONE
    if message.line_end in (LineEnd.LF, LineEnd.CRLF) and is_ebcdic(encoding):
        raise UsageError(
            f"{encoding} has a line end of its own; say line_end: nel, or leave it out where there is none"
        )
    if raw is not None and message.trimmed and message.line_end is not LineEnd.NONE:
        raise wrong_field(raw, "may hold the byte of a line end, so no record can be `trimmed`")
    return message.line_end, raw is not None or message.line_end is LineEnd.NONE


def check_overpunch(message: Message) -> None:
    """Raise UsageError where a sign is to be written over a digit of ASCII and nothing says how: a program that expects
    the other way reads another number, without a word."""
    if message.overpunch is not None or is_ebcdic(message.encoding or "utf-8"):
        return
    for field in _leaves(message.fields):
        picture = field.picture
        if picture is not None and picture.is_text and picture.sign in (Sign.TRAILING, Sign.LEADING):
            raise wrong_field(
                field,
                f"has a sign over a digit, which programs write in two ways; say overpunch: {Overpunch.ASCII} for "
                f"GnuCOBOL and Micro Focus, overpunch: {Overpunch.IBM} for records that were EBCDIC",
            )


def _leaves(fields: Sequence[Field]) -> Iterator[Field]:
    for field in fields:
        yield from _leaves(field.fields) if field.fields else (field,)
