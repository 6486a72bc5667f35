"""Help as we want it read: usage, what it does, arguments, options, commands; no boxes, no types."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from stretto.cli.terminal import Trimmed, results

WIDEST: Final = 100
"""Columns; longer lines are hard to read."""

_Row = tuple[str, str]


class VerbCommand(TyperCommand):
    """A verb. Any: click's own classes, which newer typer vendors under a private name."""

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002  # click calls it with both
        """Print the help; the formatter stays empty."""
        arguments = [_argument(each) for each in self.params if each.param_type_name == "argument"]
        arguments += [_spelling(each) for each in self.params if each.param_type_name == "option" and each.required]
        sections = [
            ("Arguments", _parameters(self.params, "argument")),
            ("Options", _parameters(self.get_params(ctx), "option")),
        ]
        _print([ctx.command_path, *arguments, "[options]"], self.help, sections)


class VerbGroup(TyperGroup):
    """A verb that is followed by another."""

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002  # click calls it with both
        """Print the help; the formatter stays empty."""
        commands: list[tuple[str, Any]] = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        sections = [
            ("Commands", [(name, _paragraphs(command.help)[0]) for name, command in commands]),
            ("Options", _parameters(self.get_params(ctx), "option")),
        ]
        _print([ctx.command_path, "COMMAND ..."], self.help, sections)


def _print(usage: Iterable[str], text: str | None, sections: Iterable[tuple[str, list[_Row]]]) -> None:
    console = results()
    console.width = min(console.width, WIDEST)
    parts: list[RenderableType] = [Text(" ".join(usage), "bold")]
    for paragraph in _paragraphs(text):
        parts += ["", Padding(Text(paragraph), (0, 0, 0, 2))]
    for title, rows in sections:
        if rows:
            parts += ["", Text(title, "bold"), Padding(_table(rows), (0, 0, 0, 2))]
    console.print(Trimmed(Group(*parts)))


def _paragraphs(text: str | None) -> list[str]:
    return [" ".join(paragraph.split()) for paragraph in (text or "").split("\n\n")]


def _table(rows: Iterable[_Row]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="cyan")
    table.add_column()
    for name, text in rows:
        table.add_row(name, Text(text))
    return table


def _parameters(params: Iterable[Any], kind: str) -> list[_Row]:
    return [(_spelling(each), _told(each)) for each in params if each.param_type_name == kind]


def _told(parameter: Any) -> str:
    """What a parameter is for, and its default, or that it has none, where its own words do not tell."""
    text: str = parameter.help or ""
    if parameter.param_type_name == "argument" or parameter.is_flag or "[default: " in text:
        return text
    if parameter.required:
        return f"{text} [required]"
    default = parameter.default
    return f"{text} [default: {default}]" if isinstance(default, str | int | float | Path) and default != "" else text


def _spelling(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return _argument(parameter).strip("[]")
    value = "" if parameter.is_flag else f" {parameter.metavar or parameter.name.upper()}"
    return ", ".join(sorted(parameter.opts, key=len)) + value


def _argument(parameter: Any) -> str:
    name = (parameter.metavar or parameter.name.upper()) + ("..." if parameter.nargs != 1 else "")
    return name if parameter.required else f"[{name}]"
