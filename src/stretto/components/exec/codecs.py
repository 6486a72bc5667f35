"""From JSON to a program's input, and from its output to JSON."""

from collections.abc import Hashable, Sequence
from typing import Final, Protocol

from stretto.components.exec.declared_field import Field
from stretto.spec.nodes import MAX_QUOTED_CHARS, quote
from stretto.types.errors import ContractError, UsageError, Violation
from stretto.types.json import Json, JsonObject, Schema

MOST_BYTES_SHOWN: Final = 20
"""Of what could not be read, in hex: enough to know it again."""


class Encoder(Protocol):
    """A request to bytes."""

    @property
    def schema(self) -> Schema:
        """What it takes."""
        ...

    def encode(self, request: JsonObject) -> bytes:
        """The bytes of a whole message; raises ContractError, with `sent` false and every field that does not fit."""
        ...


class Decoder(Protocol):
    """Bytes to an answer."""

    @property
    def schema(self) -> Schema:
        """What it gives."""
        ...

    def decode(self, data: bytes) -> JsonObject:
        """The answer of a whole message; raises UnreadableError for bytes that are none."""
        ...


class UnreadableError(Exception):
    """A program's output is not what was declared. The text says where, what stands there, and what was expected."""


def misfit_error(violations: Sequence[Violation]) -> ContractError:
    """The error of a request that does not fit the fields of the message; nothing of it was sent."""
    error = ContractError("the request does not fit what the program reads, and was not sent", violations)
    error.sent = False
    return error


class Misfits:
    """Collects what does not fit, so that all is told together."""

    def __init__(self) -> None:
        self._found: list[Violation] = []

    def add(self, pointer: str, value: Json, expected: str) -> None:
        """Keep one place where a value does not fit."""
        self._found.append(Violation(pointer=pointer, message=f"is {shown(value)}; expected {expected}"))

    def raise_if_any(self) -> None:
        """Raise ContractError, with `sent` false, unless everything fits."""
        if self._found:
            raise misfit_error(self._found)


def rows_of(request: JsonObject, rows: str, misfits: Misfits) -> list[tuple[str, JsonObject]]:
    """The rows of a request and a JSON Pointer to each: the request itself, or those under a name."""
    if not rows:
        return [("", request)]
    for name in request:
        if name != rows:
            misfits.add(pointer_to("", name), request[name], f"'{rows}' alone, the list of rows")
    under, listed = pointer_to("", rows), request.get(rows)
    if not isinstance(listed, list):
        misfits.add(under, listed, "a list of rows")
        return []
    for at, row in enumerate(listed):
        if not isinstance(row, dict):
            misfits.add(f"{under}/{at}", row, "an object of its fields")
    return [(f"{under}/{at}", row) for at, row in enumerate(listed) if isinstance(row, dict)]


def value_of(row: JsonObject, field: Field) -> Json:
    """The value of a field; null when it is not there."""
    return row.get(field.name)


def unknown_names(row: JsonObject, fields: Sequence[Field], pointer: str, misfits: Misfits) -> None:
    """Tell of fields that have no place in the message: they would be lost without a word."""
    names = {field.name for field in fields}
    for name in row:
        if name not in names:
            expected = f"one of the fields {', '.join(sorted(names))}"
            misfits.add(pointer_to(pointer, name), row[name], expected)


def check_once(places: Sequence[tuple[Hashable, str]], what: str) -> None:
    """Raise UsageError for a place of a request that is given twice: one value would take the place of the other.

    Each is told apart by the first, and called by the second.
    """
    seen: set[Hashable] = set()
    for place, name in places:
        if place in seen:
            raise UsageError(f"`request` has two fields {what} '{name}'")
        seen.add(place)


def pointer_to(above: str, name: str) -> str:
    """JSON Pointer (RFC 6901) to a field of what another one leads to."""
    return f"{above}/{name.replace('~', '~0').replace('/', '~1')}"


def shown(value: object) -> str:
    """A value, in a message: cut, and without what would steer a terminal."""
    if isinstance(value, str):
        return quote(value)
    text = "missing" if value is None else str(value)
    return text if len(text) <= MAX_QUOTED_CHARS else f"{text[:MAX_QUOTED_CHARS]}..."


def shown_bytes(data: bytes) -> str:
    """Bytes of a record as one would look for them: as text where they are printable ASCII, else in hex."""
    if data.isascii() and data.decode("ascii").isprintable():
        return shown(data.decode("ascii"))
    text = data[:MOST_BYTES_SHOWN].hex(" ").upper()
    return f"{text} ..." if len(data) > MOST_BYTES_SHOWN else text
