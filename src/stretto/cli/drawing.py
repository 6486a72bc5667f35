"""Boxes and arrows as text, as wide as there is room for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Final

from rich.text import Text


@dataclass(frozen=True, slots=True)
class Strokes:
    """What boxes and arrows are drawn with."""

    top: str
    sides: str
    bottom: str
    line: str
    down: str
    aside: str
    across: str
    tip: str
    comes_from: str


UNICODE: Final = Strokes("╭╮", "│", "╰╯", "│", "┬", "├", "─", "▼", "←")
ASCII: Final = Strokes("++", "|", "++", "|", "+", "+", "-", "v", "<-")

WIDTH: Final = 80
"""Columns of a drawing that is kept in a file."""

NARROWEST: Final = 16
"""Columns for words, also where the terminal has fewer left."""


@dataclass(frozen=True, slots=True)
class Arrow:
    """What one field of a step is given."""

    field: str
    contract: str
    source: str


@dataclass(frozen=True, slots=True)
class Box:
    """A step, or one of the workflow's two ends."""

    name: str
    says: str
    arrows: tuple[Arrow, ...]
    beside: bool = False
    """It does not wait for the boxes before or after it that say the same: a branch."""


def draw(boxes: Sequence[Box], strokes: Strokes, width: int = WIDTH) -> Text:
    """The boxes under one another, each below the arrows that lead to it; branches stand beside the line."""
    drawing = _Drawing(boxes, strokes, width)
    lines = [line for number, box in enumerate(boxes) for line in drawing.box(box, number)]
    return Text("\n").join(lines).append("\n")


class _Drawing:
    """Where things stand: the line runs down through the middle of the boxes, branches begin beside it."""

    def __init__(self, boxes: Sequence[Box], strokes: Strokes, width: int) -> None:
        arrows = [arrow for box in boxes for arrow in box.arrows]
        self._strokes = strokes
        self._width = width
        self._boxes = boxes
        self._inner = max(len(box.name) for box in boxes) + 4
        self._middle = self._inner // 2
        self._fields = max((len(arrow.field) for arrow in arrows), default=0)
        self._contracts = max((len(arrow.contract) for arrow in arrows), default=0)

    def box(self, box: Box, number: int) -> Iterator[Text]:
        """The lines of one box with the arrows above it."""
        rail = " " * (self._middle + 1) + self._strokes.line
        if box.beside:
            yield from self._branch(box, rail)
            return
        if number:
            if self._boxes[number - 1].beside:
                yield Text(rail, "dim")
            yield from self._told(rail, rail, self._given(box.arrows, len(rail)))
            yield Text(rail[:-1] + self._strokes.tip, "dim")
        is_last = number == len(self._boxes) - 1
        yield from self._framed(box, "", "" if is_last else self._strokes.down, rail)

    def _branch(self, box: Box, rail: str) -> Iterator[Text]:
        """A box beside the line, which runs on."""
        s, reach = self._strokes, self._middle + 2
        below = rail + " " * reach + s.line
        yield Text(rail, "dim")
        corner = rail[:-1] + s.aside + s.across * reach + s.top[1]
        yield from self._told(corner, below, self._given(box.arrows, len(below)))
        yield Text(below[:-1] + s.tip, "dim")
        yield from self._framed(box, f"{rail}  ", "", f"{rail}  ")

    def _framed(self, box: Box, before: str, down: str, after: str) -> Iterator[Text]:
        """The box, what it says at its right: beside its name, its lower edge, and below that."""
        s, edge = self._strokes, self._strokes.across * self._inner
        lower = f"{edge[: self._middle]}{down or s.across}{edge[self._middle + 1 :]}"
        said = _words(box.says, self._width - len(before) - self._inner - 4)
        name = Text.assemble((before + s.sides, "dim"), (f"{box.name:^{self._inner}}", "bold"), (s.sides, "dim"))
        yield Text(f"{before}{s.top[0]}{edge}{s.top[1]}", "dim")
        yield name.append(f"  {said[0]}" if said else "")
        yield Text(f"{before}{s.bottom[0]}{lower}{s.bottom[1]}", "dim").append(
            f"  {said[1]}" if said[1:] else "", "not dim"
        )
        for more in said[2:]:
            yield Text(after.ljust(len(before) + self._inner + 4), "dim").append(more, "not dim")

    def _told(self, first: str, others: str, given: list[Text]) -> Iterator[Text]:
        """Lines beside the strokes that lead to a box; the first has strokes of its own."""
        for number, line in enumerate(given or [Text("")]):
            yield Text.assemble((others if number else first, "dim"), line)

    def _given(self, arrows: tuple[Arrow, ...], taken: int) -> list[Text]:
        """Field, contract and source of each arrow; a source that does not fit beside them stands below."""
        lines: list[Text] = []
        for arrow in arrows:
            line = Text(f"  {arrow.field:<{self._fields}}", "cyan").append(f"  {arrow.contract}", "not cyan")
            source = f"{self._strokes.comes_from} {arrow.source}"
            beside = f"{'':<{self._contracts - len(arrow.contract)}}  {source}"
            if taken + len(line) + len(beside) <= self._width:
                lines.append(line.append(beside, "dim not cyan"))
                continue
            indent = " " * (self._fields + 4)
            below = _words(source, self._width - taken - len(indent), "  ")
            lines += [line, *(Text(f"{indent}{part}", "dim") for part in below)]
        return lines


def _words(text: str, width: int, further: str = "") -> list[str]:
    """Lines of whole words, the second and on with an indent; names and expressions are never broken."""
    return wrap(text, max(NARROWEST, width), subsequent_indent=further, break_long_words=False, break_on_hyphens=False)
