"""The values of a field, parted so that all of one part are answered alike by every cell that is asked about it."""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from enum import StrEnum
from itertools import pairwise
from typing import Final

import msgspec
import orjson

from stretto.types.json import Json

OTHER_TEXT: Final = "\u2026"
"""Stands for every text that nobody names; lengthened until nobody does."""


class Sort(StrEnum):
    """What kind of value a part holds."""

    MISSING = "missing"
    NULL = "null"
    FLAG = "flag"
    TEXT = "text"
    OTHER_TEXT = "other_text"
    NUMBER = "number"
    LIST = "list"
    OBJECT = "object"


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Some values of a field, and one that stands for them."""

    sort: Sort
    sample: str
    """A value of the part, as JSON."""
    low: Decimal | None = None
    """Of a number: its bounds, None where it has none; both are the number where it is one."""
    high: Decimal | None = None

    @property
    def is_point(self) -> bool:
        return self.low is not None and self.low == self.high

    @property
    def value(self) -> Json:
        """The sample, decoded; numbers as near as a double comes."""
        value: Json = orjson.loads(self.sample)
        return value


def parts_of(texts: Iterable[str], numbers: Iterable[Decimal]) -> tuple[Part, ...]:
    """Every value there is, parted at these texts and numbers."""
    named = sorted(set(texts))
    other = OTHER_TEXT
    while other in named:
        other += OTHER_TEXT
    return (
        Part(sort=Sort.MISSING, sample="null"),
        Part(sort=Sort.NULL, sample="null"),
        Part(sort=Sort.FLAG, sample="true"),
        Part(sort=Sort.FLAG, sample="false"),
        *(Part(sort=Sort.TEXT, sample=_json(text)) for text in named),
        Part(sort=Sort.OTHER_TEXT, sample=_json(other)),
        *_line(sorted(set(numbers))),
        Part(sort=Sort.LIST, sample="[]"),
        Part(sort=Sort.OBJECT, sample="{}"),
    )


def _line(cuts: Sequence[Decimal]) -> Iterator[Part]:
    """The number line: below all cuts, each cut, between each two, above all."""
    if not cuts:
        yield Part(sort=Sort.NUMBER, sample="0")
        return
    yield Part(sort=Sort.NUMBER, sample=_text(_below(cuts[0])), high=cuts[0])
    for cut, after in pairwise(cuts):
        yield _point(cut)
        yield Part(sort=Sort.NUMBER, sample=_text(_between(cut, after)), low=cut, high=after)
    yield _point(cuts[-1])
    yield Part(sort=Sort.NUMBER, sample=_text(-_below(-cuts[-1])), low=cuts[-1])


def _point(cut: Decimal) -> Part:
    return Part(sort=Sort.NUMBER, sample=_text(cut), low=cut, high=cut)


def _below(cut: Decimal) -> Decimal:
    """The largest whole number below, since a whole number stands for all that a field of either type may hold."""
    whole = cut.to_integral_value(rounding="ROUND_FLOOR")
    return whole - 1 if whole == cut else whole


def _between(low: Decimal, high: Decimal) -> Decimal:
    """A whole number between the two where there is one."""
    whole = low.to_integral_value(rounding="ROUND_FLOOR") + 1
    return whole if whole < high else (low + high) / 2


def _text(number: Decimal) -> str:
    return f"{number:f}"


def _json(text: str) -> str:
    return orjson.dumps(text).decode()


def words_of(parts: Sequence[Part]) -> str:
    """Some parts in words, neighbouring numbers joined; numbers as a cell would have them."""
    words = [_word(part) for part in parts if part.sort is not Sort.NUMBER]
    numbers = [part for part in parts if part.sort is Sort.NUMBER]
    runs: list[list[Part]] = []
    for part in numbers:
        if runs and runs[-1][-1].high is not None and runs[-1][-1].high == part.low:
            runs[-1].append(part)
        else:
            runs.append([part])
    return " or ".join([*words, *(_interval(run[0], run[-1]) for run in runs)])


def _word(part: Part) -> str:
    match part.sort:
        case Sort.OTHER_TEXT:
            return "any other text"
        case Sort.LIST | Sort.OBJECT:
            return "a list" if part.sort is Sort.LIST else "an object"
        case Sort.MISSING:
            return "missing"
        case _:
            return part.sample


def _interval(first: Part, last: Part) -> str:
    low, high = first.low, last.high
    if low is None and high is None:
        return "any number"
    if high is None:
        return f"{'>=' if first.is_point else '>'} {low}"
    if low is None:
        return f"{'<=' if last.is_point else '<'} {high}"
    if low == high:
        return str(low)
    return f"{'[' if first.is_point else '('}{low}..{high}{']' if last.is_point else ')'}"
