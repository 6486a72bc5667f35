"""One field of what a program reads or writes, as it is declared."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeAlias

import msgspec

from stretto.components.exec.picture import Picture


class FieldType(StrEnum):
    """What stands in JSON for a field's text."""

    STRING = "string"
    INTEGER = "integer"
    DECIMAL = "decimal"
    """Text such as ``"1234.50"``: no digit is lost or made up, as may be where a number is a binary fraction."""
    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"
    """Text as ISO 8601 has it, ``"2026-11-30"``."""


class Justify(StrEnum):
    """On which side of its field a text stands."""

    LEFT = "left"
    RIGHT = "right"


Scalar: TypeAlias = str | int | float | bool | None

Values: TypeAlias = tuple[Scalar, ...] | Mapping[str, Scalar]
"""All that a field may hold; a mapping leads from the code in the record to the value in JSON."""


class Field(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One place of a message: a named value, a constant, or room that means nothing."""

    name: str = ""
    constant: str | None = None
    """Written always; what is read must hold it."""
    filler: int = 0
    """Bytes of a fixed-width record that mean nothing."""
    offset: int | None = None
    """Bytes of the record before it; None is right after the field before."""
    width: int | None = None
    """Bytes in a record, the most characters elsewhere; None is as the picture or the constant has it."""
    picture: Picture | None = None
    type: FieldType | None = None
    """None is as the picture has it, else text."""
    values: Values = ()
    """Empty allows all."""
    date: str = ""
    """Layout of a date, ``YYYYMMDD``."""
    pad: str = ""
    """What fills the rest of a record's field; empty is a space."""
    justify: Justify | None = None
    """None is left for text, right for numbers."""
    optional: bool = False
    """Blank, or not there, is null; of what occurs several times, empty items at the end are left out."""
    occurs: int = 1
    """How often it stands in a record, one behind the other; more than once is a list."""
    fields: "tuple[Field, ...]" = ()
    """Of a group: what lies in it, offsets counted from its beginning."""
    column: str = ""
    """Name in the header of a CSV; empty is the field's own."""
    path: str = ""
    """Where it stands in XML, ``order/@id``; empty is an element of the field's own name."""
    means: str = ""
