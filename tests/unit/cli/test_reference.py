"""docs/reference/cli.md and the command line say the same."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from stretto.cli.app import app
from stretto.cli.exits import Exit

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "cli.md").read_text()
SECTIONS = dict(re.findall(r"^## `(stretto[^`]*)`\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))


def commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every verb with its path; groups that only hold verbs are left out."""
    if not hasattr(command, "list_commands"):
        yield path, command
        return
    context = typer.Context(command, info_name=path)
    for name in command.list_commands(context):
        yield from commands(command.get_command(context, name), f"{path} {name}")


COMMANDS = dict(commands(typer.main.get_command(app), "stretto"))


def flags(command: Any) -> set[str]:
    return {flag for each in command.params if each.param_type_name == "option" for flag in each.opts}


def test_every_verb_has_a_section_and_no_section_is_of_another() -> None:
    assert set(SECTIONS) == set(COMMANDS) | {"stretto"}


@pytest.mark.parametrize("verb", COMMANDS)
def test_every_flag_is_documented_and_no_other(verb: str) -> None:
    documented = set(re.findall(r"`(--?[a-z][a-z-]*)", "\n".join(re.findall(r"^\| (.*?) \|", SECTIONS[verb], re.M))))
    assert documented == flags(COMMANDS[verb])


@pytest.mark.parametrize("verb", COMMANDS)
def test_every_verb_has_json_and_help_that_ends_its_sentences(verb: str) -> None:
    command = COMMANDS[verb]
    assert "--json" in flags(command)
    assert command.help.strip().endswith((".", "!"))
    for each in command.params:
        assert each.help.rstrip(" ]").endswith((".", "]", "?")) or "[default" in each.help, each.help


def test_every_exit_code_is_documented() -> None:
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)} == set(Exit)


@pytest.mark.parametrize("variable", ["STRETTO_STORE", "STRETTO_DEBUG", "NO_COLOR", "COLUMNS"])
def test_every_environment_variable_is_documented(variable: str) -> None:
    assert f"| `{variable}` |" in PAGE
