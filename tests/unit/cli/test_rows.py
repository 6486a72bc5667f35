"""Labelled rows: no word is broken, no label lost, however narrow the terminal is."""

import pytest
from rich.console import Console, RenderableType
from rich.text import Text

from stretto.cli.rows import labelled, one_piece, widths_for

ROWS = [
    (Text("a-label-of-some-length"), (Text("short"), Text("several words that may go on"), one_piece("12 ms"))),
    (Text(""), (Text("more"), Text(""), one_piece("1234.5 ms"))),
    (Text("b"), (Text(""), Text("a-word-that-is-long"), one_piece(""))),
]
WORDS = ["a-label-of-some-length", "short", "more", "a-word-that-is-long", "b"]


def drawn(what: RenderableType, width: int) -> list[str]:
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(what)
    return [line.rstrip() for line in capture.get().splitlines()]


@pytest.mark.parametrize("width", [24, 30, 40, 60, 61, 62, 63, 80, 120])
def test_every_word_stands_whole(width: int) -> None:
    lines = drawn(labelled(ROWS, width), width)
    words = [word for line in lines for word in line.split()]
    assert set(WORDS) <= set(words)
    assert all(len(line) <= width for line in lines)


def test_with_room_each_row_is_one_line() -> None:
    assert drawn(labelled(ROWS, 120), 120) == [
        "a-label-of-some-length  short  several words that may go on  12 ms",
        "                        more                                 1234.5 ms",
        "b                              a-word-that-is-long",
    ]


def test_without_room_each_label_stands_over_its_cells() -> None:
    assert drawn(labelled(ROWS, 50), 50) == [
        "a-label-of-some-length",
        "  short  several words that may go on  12 ms",
        "  more  1234.5 ms",
        "b",
        "  a-word-that-is-long",
    ]


@pytest.mark.parametrize(("room", "widths"), [(9, None), (10, [3, 5]), (13, [4, 7]), (18, [6, 10]), (90, [6, 12])])
def test_no_column_gets_less_than_its_longest_word_and_what_is_left_is_shared(
    room: int, widths: list[int] | None
) -> None:
    assert widths_for([[Text("aaa bb")], [Text("ccccc dd eee")]], room) == widths


def test_no_rows_are_nothing() -> None:
    assert drawn(labelled([], 80), 80) == []
