"""A file's text, and places in it: what turns an offset into ``file:line:column`` and into a problem to show."""

import re
from bisect import bisect_right
from enum import StrEnum
from functools import cached_property
from typing import Final, Generic, TypeVar

import msgspec

from stretto.types.errors import Problem

T_co = TypeVar("T_co", covariant=True)

EXCERPT_CHARS: Final = 160
"""Longest source line shown whole; of a longer one (minified JSON) only what surrounds the place."""

SENTENCE_CHARS: Final = 400
"""Longest part of a problem: what quotes a file may meet a megabyte without a space."""

_LINE_BREAK: Final = re.compile(r"\r\n|\r|\n")
_UNPRINTABLE: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """The text with what would steer a terminal, or turn the reading order, replaced; its length stays."""
    return _UNPRINTABLE.sub("\ufffd", text)


def _cut(text: str) -> str:
    return text if len(text) <= SENTENCE_CHARS else f"{text[:SENTENCE_CHARS]}..."


class Mark(msgspec.Struct, frozen=True):
    """A place in a file."""

    file: str
    line: int
    """1-based."""
    column: int
    """1-based, in characters."""

    @property
    def place(self) -> str:
        """``file:line:column``, as editors open it."""
        return f"{self.file}:{self.line}:{self.column}"


class Source:
    """The text of one file, with its name as people typed it."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(found.end() for found in _LINE_BREAK.finditer(self.text))]

    def mark(self, offset: int) -> Mark:
        """The place of a character, by its offset in the text."""
        line = bisect_right(self._line_starts, offset)
        return Mark(self.name, line, offset - self._line_starts[line - 1] + 1)

    def line(self, number: int) -> str:
        """A line without its line break, by its 1-based number."""
        start = self._line_starts[number - 1]
        end = self._line_starts[number] if number < len(self._line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")

    def problem(
        self, start: int, end: int, code: StrEnum, message: str, *, expected: str = "", suggestion: str = ""
    ) -> Problem:
        """A problem that underlines the text from `start` to `end`, or to the end of its line."""
        mark = self.mark(start)
        line = self.line(mark.line)
        first = 1 if len(line) <= EXCERPT_CHARS else max(1, mark.column - EXCERPT_CHARS // 2)
        excerpt = printable(line[first - 1 : first - 1 + EXCERPT_CHARS])
        room = first + len(excerpt) - mark.column
        return Problem(
            code=code,
            message=_cut(message),
            file=mark.file,
            line=mark.line,
            column=mark.column,
            expected=_cut(expected),
            suggestion=_cut(suggestion),
            excerpt=excerpt,
            excerpt_column=first,
            width=max(1, min(end - start, room)),
        )


class Span(msgspec.Struct, frozen=True):
    """A stretch of a file: one key, or one value."""

    source: Source
    start: int
    """Offset of its first character in the source's text."""
    end: int
    """Offset after its last."""

    @property
    def mark(self) -> Mark:
        return self.source.mark(self.start)

    def problem(self, code: StrEnum, message: str, *, expected: str = "", suggestion: str = "") -> Problem:
        """A problem that underlines this stretch."""
        return self.source.problem(self.start, self.end, code, message, expected=expected, suggestion=suggestion)


class Located(msgspec.Struct, Generic[T_co], frozen=True):
    """A value, and where it was written."""

    value: T_co
    span: Span

    @property
    def mark(self) -> Mark:
        return self.span.mark

    def part(self, offset: int, width: int = 1) -> Span:
        """Where characters of a text value stand in the file: `offset` counts in the value, not in the file.

        Quotes, escapes and folded lines are allowed for; inside a folded block the place of white space is a guess.
        """
        start, end = offsets_in_source(str(self.value), self.span, offset, max(1, width))
        return Span(self.span.source, start, end)


def offsets_in_source(value: str, span: Span, offset: int, width: int) -> tuple[int, int]:
    """Map characters of a scalar's value to offsets in its source, by walking both side by side."""
    raw = span.source.text[span.start : span.end]
    places = _walk(value, raw, stop=offset + width)
    if offset >= len(places):
        end = span.start + (places[-1] + 1 if places else 0)
        return end, end + 1
    return span.start + places[offset], span.start + places[min(offset + width, len(places)) - 1] + 1


def _walk(value: str, raw: str, stop: int) -> list[int]:
    """For each character of the value, where it begins in the raw text."""
    quote = raw[:1] if raw[:1] in ("'", '"') else ""
    at = _first_content(raw)
    places = []
    for char in value[:stop]:
        if not char.isspace():
            at = _skip_folding(raw, at, escapes=quote == '"')
        places.append(min(at, max(len(raw) - 1, 0)))
        at += _raw_width(raw, at, char, quote)
    return places


def _first_content(raw: str) -> int:
    if raw[:1] in ("|", ">"):
        return raw.find("\n") + 1
    return 1 if raw[:1] in ("'", '"') else 0


def _skip_folding(raw: str, at: int, *, escapes: bool) -> int:
    """Pass the white space that folding dropped, escaped line breaks included."""
    while at < len(raw) and (
        raw[at].isspace() or (escapes and raw[at] == "\\" and raw[at + 1 : at + 2] in ("\n", "\r"))
    ):
        at += 1
    return at


def _raw_width(raw: str, at: int, char: str, quote: str) -> int:
    """How many raw characters stand for one character of the value."""
    if quote == "'" and raw[at : at + 2] == "''":
        return 2
    if quote == '"' and raw[at : at + 1] == "\\":
        digits = {"x": 2, "u": 4, "U": 8}.get(raw[at + 1 : at + 2], 0)
        pair = digits == 4 and ord(char) > 0xFFFF  # JSON writes such a character as two escapes
        return (2 + digits) * (2 if pair else 1)
    return 1
