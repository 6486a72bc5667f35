"""A part of a result under its title."""

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text


def section(title: str, body: RenderableType) -> RenderableType:
    """The body indented below its title, after a blank line."""
    return Group("", Text(title, "bold"), Padding(body, (0, 0, 0, 2), expand=False))
