"""A part of a result under its title."""

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.segment import Segment
from rich.text import Text


def section(title: str, body: RenderableType) -> RenderableType:
    """The body indented below its title, after a blank line."""
    return Group("", Text(title, "bold"), Indented(body))


class Indented:
    """What it holds so many columns further right; what is to be copied may run over the margin."""

    def __init__(self, inner: RenderableType, columns: int = 2) -> None:
        self._inner = inner
        self._columns = columns

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        narrower = options.update(width=max(1, options.max_width - self._columns))
        for line in Segment.split_lines(console.render(self._inner, narrower)):
            yield Segment(" " * self._columns)
            yield from line
            yield Segment.line()
