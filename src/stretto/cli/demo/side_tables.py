"""A table whose columns do not fit beside each other, as several under one another: every row keeps its label."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

_BETWEEN: Final = 3
"""Blank columns between two columns of a table."""

Row = tuple[Text, Sequence[Text]]
"""A label and its cells."""


def side_tables(heads: Sequence[str], rows: Sequence[Row], width: int) -> RenderableType:
    """Rows under heads, for a terminal so many columns wide: as few tables as fit, their columns shared out evenly.

    Where not even one column fits beside the labels, its cells stand under them.
    """
    label = max((row[0].cell_len for row in rows), default=0)
    cells = [[Text(head, "bold"), *(row[1][at] for row in rows)] for at, head in enumerate(heads)]
    widths = [_BETWEEN + max(cell.cell_len for cell in column) for column in cells]
    under = label + max(widths, default=0) > width
    parts: list[RenderableType] = []
    for first, last in _shares(widths, width - label):
        shown = [(name, columns[first:last]) for name, columns in rows]
        table = _under(heads[first], shown) if under else _beside(heads[first:last], shown)
        parts += [*([""] if parts else []), table]
    return Group(*parts)


def _beside(heads: Sequence[str], rows: Sequence[Row]) -> Table:
    table = Table.grid(padding=(0, _BETWEEN))
    for _ in ("", *heads):
        table.add_column(no_wrap=True)
    table.add_row("", *(Text(head, "bold") for head in heads))
    for name, cells in rows:
        table.add_row(name, *cells)
    return table


def _under(head: str, rows: Sequence[Row]) -> Group:
    return Group(Text(head, "bold"), *(Text.assemble(name, "\n  ", cells[0]) for name, cells in rows))


def _shares(widths: Sequence[int], room: int) -> list[tuple[int, int]]:
    """Ranges of columns that fit into the room: as few as can be, and as even; one each when even one is too wide."""
    count = len(widths)
    for tables in range(1, count):
        ranges = list(pairwise(round(count * each / tables) for each in range(tables + 1)))
        if all(sum(widths[first:last]) <= room for first, last in ranges):
            return ranges
    return [(each, each + 1) for each in range(count)]
