"""Labelled rows whose words stay whole: in columns where these are wide enough, else each label over its cells."""

from collections.abc import Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

BETWEEN: Final = 2
"""Blank columns between two columns."""

Row = tuple[Text, Sequence[Text]]
"""A label and its cells, as many in every row. A row without a label goes on with the one above."""


def one_piece(text: str, style: str = "") -> Text:
    """A cell that is one word, spaces and all: a time, a figure with its unit."""
    return Text(text, style, no_wrap=True)


def labelled(rows: Sequence[Row], width: int, *, prose: int = 0) -> RenderableType:
    """The rows for a terminal so many columns wide; longer cells in their last column get `prose` columns or more."""
    if not rows:
        return Group()
    labels = max(label.cell_len for label, _ in rows)
    columns = [[cells[at] for _, cells in rows] for at in range(len(rows[0][1]))]
    widths = widths_for(columns, width - labels - BETWEEN)
    if widths and widths[-1] < min(prose, max(cell.cell_len for cell in columns[-1])):
        widths = None
    if widths is None:
        return Group(*(part for row in rows for part in _stacked(*row)))
    table = Table.grid(padding=(0, BETWEEN))
    for each in (labels, *widths):
        table.add_column(width=each)
    for label, cells in rows:
        table.add_row(label, *(cell for cell, each in zip(cells, widths, strict=True) if each or not cell.plain))
    return table


def widths_for(columns: Sequence[Sequence[Text]], room: int) -> list[int] | None:
    """Widths at which no word is broken, what is left shared out; None when there are none."""
    least = [max(map(longest_word, column), default=0) for column in columns]
    left = room - sum(least) - BETWEEN * (len(columns) - 1)
    if left < 0:
        return None
    wanted = [max(each.cell_len for each in column) - words for column, words in zip(columns, least, strict=True)]
    widths, modest_first = [*least], sorted(range(len(columns)), key=wanted.__getitem__)
    for number, at in enumerate(modest_first):
        more = min(wanted[at], left // (len(columns) - number))
        widths[at] += more
        left -= more
    return widths


def longest_word(text: Text) -> int:
    """Columns that the longest word of a text takes; one that is not to be wrapped is one word."""
    return text.cell_len if text.no_wrap else max((Text(word).cell_len for word in text.plain.split()), default=0)


def _stacked(label: Text, cells: Sequence[Text]) -> list[RenderableType]:
    told = Text("  ").join(cell for cell in cells if cell.plain)
    return [*([label] if label.plain.strip() else []), *([Padding(told, (0, 0, 0, BETWEEN))] if told.plain else [])]
