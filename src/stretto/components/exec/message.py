"""What goes into a program, or comes out of it, as it is declared: a format and what that needs to know."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import msgspec

from stretto.components.exec.declared_field import Field
from stretto.components.exec.texts import NEXT_LINE
from stretto.components.exec.zoned import Overpunch
from stretto.types.json import JsonObject


class Format(StrEnum):
    """How a message is laid out."""

    JSON = "json"
    CSV = "csv"
    FIXED = "fixed"
    """Records in which each field has its bytes."""
    XML = "xml"
    TEXT = "text"


class LineEnd(StrEnum):
    """What stands after each fixed-width record, or after the whole message."""

    LF = "lf"
    CRLF = "crlf"
    NEL = "nel"
    """New Line of EBCDIC."""
    NONE = "none"

    @property
    def text(self) -> str:
        return {"lf": "\n", "crlf": "\r\n", "nel": NEXT_LINE, "none": ""}[self.value]


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One direction of the conversation with a program."""

    format: Format
    fields: tuple[Field, ...] = ()
    schema: JsonObject | None = None
    """Of JSON; None is any object."""
    encoding: str = ""
    """Empty is UTF-8, in XML what the document says."""
    line_end: LineEnd | None = None
    """None is a line feed where one can be told from data, else none."""
    rows: str = ""
    """Name of the field under which rows are listed; empty is one row, whose fields are the message's own."""
    length: int | None = None
    """Bytes of a fixed-width record; None is where its last field ends."""
    overpunch: Overpunch | None = None
    """None where nothing is written that it would decide."""
    trimmed: bool = False
    """Spaces at the end of a fixed-width record may be missing."""
    header: bool = True
    """A CSV begins with the names of its columns."""
    delimiter: str = ","
    quote: str = '"'
    root: str = ""
    """Outermost element of XML."""
    each: str = ""
    """Path of the elements that are rows of XML."""
    namespaces: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Prefixes of XML names, and what they stand for."""
    pattern: str = ""
    """Regular expression whose named groups are the fields of a text."""


OF_FORMAT: Final[Mapping[Format, frozenset[str]]] = {
    Format.JSON: frozenset({"schema", "encoding"}),
    Format.CSV: frozenset({"fields", "encoding", "line_end", "rows", "header", "delimiter", "quote"}),
    Format.FIXED: frozenset({"fields", "encoding", "line_end", "rows", "length", "overpunch", "trimmed"}),
    Format.XML: frozenset({"fields", "encoding", "rows", "root", "each", "namespaces"}),
    Format.TEXT: frozenset({"fields", "encoding", "line_end", "rows", "pattern"}),
}
"""Beside `format`, what has an effect in each."""

_EVERYWHERE: Final = frozenset({"name", "width", "type", "values", "date", "optional", "means"})

FIELD_OF_FORMAT: Final[Mapping[Format, frozenset[str]]] = {
    Format.JSON: frozenset(),
    Format.CSV: _EVERYWHERE | {"constant", "column"},
    Format.FIXED: _EVERYWHERE | {"constant", "filler", "offset", "picture", "pad", "justify", "occurs", "fields"},
    Format.XML: _EVERYWHERE | {"constant", "path"},
    Format.TEXT: _EVERYWHERE,
}
"""What has an effect in a field of each."""


def changed(struct: msgspec.Struct, names: frozenset[str]) -> list[str]:
    """Fields of a struct that were given another value than their default, and are not among the names."""
    given = msgspec.to_builtins(struct)  # leaves defaults out, as both structs here are declared to
    return [name for name in given if name not in names]
