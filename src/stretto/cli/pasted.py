"""What people are to copy, a command or a JSON text: in one piece, however narrow the terminal.

A line break inside it would send half a command, or break a JSON string. A terminal that has too few columns breaks
the line where it shows it, and copies it whole.
"""

import re
from typing import Final

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.style import Style
from rich.text import Text

PASTED: Final = Style(bold=True, meta={"pasted": True})
"""The style of what is to be copied."""

MENDED: Final = Style(color="green", meta={"pasted": True})
"""The style of a text that is to stand in a file in place of a wrong one."""

_QUOTED: Final = re.compile(r"`[^`\n]+`")
"""What messages set in backticks: a command, an expression, a key."""

_COMMAND: Final = re.compile(r"(?:^ *|(?<!error: )(?<=: )|(?<=→ )|(?<=-> ))(?:stretto|pip|sqlite3) .*$", re.MULTILINE)
"""A command that a line is, or ends with."""

_WORD: Final = re.compile(r"\s*\S+\s*")

_HELD: Final = "\ue000"
"""Stands for a blank at which no line may be broken."""


def whole_lines(text: Text, width: int) -> Text:
    """The text wrapped at words to so many columns, nowhere inside of what is to be copied."""
    held, plain = text.copy(), list(text.plain)
    spans = [(span.start, span.end) for span in text.spans if span.style in (PASTED, MENDED)]
    if text.style is PASTED:
        spans.append((0, len(plain)))
    spans += [found.span() for pattern in (_QUOTED, _COMMAND) for found in pattern.finditer(text.plain)]
    for start, end in spans:
        plain[start:end] = [_HELD if char == " " else char for char in plain[start:end]]
    held.plain = "".join(plain)
    parts = [part for line in held.split(allow_blank=True) for part in line.divide(_breaks(line.plain, width))]
    for part in parts:
        part.rstrip()
    lines = Text("\n", no_wrap=True, overflow="ignore").join(parts)
    lines.plain = lines.plain.replace(_HELD, " ")
    return lines


def _breaks(line: str, width: int) -> list[int]:
    """Where the words begin that stand on a new line; a word that is wider than a line stays whole."""
    breaks, used = [], 0
    for word in _WORD.finditer(line):
        if used and used + cell_len(word[0].rstrip()) > width:
            breaks.append(word.start())
            used = 0
        used += cell_len(word[0])
    return breaks


class Whole:
    """A text in a report: wrapped at words, nowhere inside of what is to be copied."""

    def __init__(self, text: Text) -> None:
        self._text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield whole_lines(self._text, options.max_width)
