"""Help as we want it read: usage, what it does, arguments, options, commands; no boxes, no types."""

from collections.abc import Iterable
from typing import Any, Final

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from stretto.cli.terminal import results

WIDEST: Final = 100
"""Columns; longer lines are hard to read."""

_Row = tuple[str, str]


class VerbCommand(TyperCommand):
    """A verb. Any: click's own classes, which newer typer vendors under a private name."""

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Print the help; the formatter stays empty."""
        console = _head(ctx, self)
        _section(console, "Arguments", _parameters(self.params, "argument"))
        _section(console, "Options", _parameters(self.get_params(ctx), "option"))
        if self.epilog:
            console.print(Text(self.epilog), soft_wrap=True)


class VerbGroup(TyperGroup):
    """A verb that is followed by another."""

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Print the help; the formatter stays empty."""
        console = _head(ctx, self)
        commands: list[tuple[str, Any]] = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        _section(console, "Commands", [(name, command.get_short_help_str(WIDEST)) for name, command in commands])
        _section(console, "Options", _parameters(self.get_params(ctx), "option"))


def _head(ctx: Any, command: Any) -> Console:
    console = results()
    console.width = min(console.width, WIDEST)
    arguments = [_argument(each) for each in command.params if each.param_type_name == "argument"]
    usage = " ".join(
        [ctx.command_path, *arguments, "COMMAND ..." if hasattr(command, "list_commands") else "[options]"]
    )
    console.print(Text(usage, "bold"))
    console.print()
    for paragraph in (command.help or "").split("\n\n"):
        console.print(Padding(Text(" ".join(paragraph.split())), (0, 0, 1, 2), expand=False))
    return console


def _section(console: Console, title: str, rows: Iterable[_Row]) -> None:
    rows = list(rows)
    if not rows:
        return
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="cyan")
    table.add_column()
    for name, text in rows:
        table.add_row(name, Text(text))
    console.print(Text(title, "bold"))
    console.print(Padding(table, (0, 0, 1, 2), expand=False))


def _parameters(params: Iterable[Any], kind: str) -> list[_Row]:
    return [(_spelling(each), each.help or "") for each in params if each.param_type_name == kind]


def _spelling(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return _argument(parameter).strip("[]")
    value = "" if parameter.is_flag else f" {parameter.metavar or parameter.name.upper()}"
    return ", ".join(sorted(parameter.opts, key=len)) + value


def _argument(parameter: Any) -> str:
    name = (parameter.metavar or parameter.name.upper()) + ("..." if parameter.nargs != 1 else "")
    return name if parameter.required else f"[{name}]"
