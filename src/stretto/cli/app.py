"""The verbs. Only the module of the verb that was typed is imported."""

from collections.abc import Mapping
from importlib import import_module
from typing import Annotated, Any, ClassVar, Final

import typer

import stretto
from stretto.cli.help import VerbGroup
from stretto.spec.suggest import nearest
from stretto.types.errors import UsageError

VERBS: Final = {
    "new": "stretto.cli.new",
    "check": "stretto.cli.check",
    "run": "stretto.cli.run",
    "runs": "stretto.cli.runs",
    "config": "stretto.cli.config",
    "serve": "stretto.cli.serve",
    "resources": "stretto.cli.resources",
    "train": "stretto.cli.train",
    "semantics": "stretto.cli.semantics",
    "replay": "stretto.cli.replay",
    "explain": "stretto.cli.explain",
    "vagueness": "stretto.cli.vagueness",
    "chaos": "stretto.cli.chaos",
    "fallback": "stretto.cli.fallback",
    "acp": "stretto.cli.acp",
    "gateway": "stretto.cli.gateway",
    "demo": "stretto.cli.demo",
    "schema": "stretto.cli.schema",
    "doctor": "stretto.cli.doctor",
}
"""Verb → the module whose `app` it is, in the order in which a newcomer meets them."""


class LazyGroup(VerbGroup):
    """A group of commands that are imported when they are asked for."""

    modules: ClassVar[Mapping[str, str]] = {}

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  # Any: typer vendors click under a private name
        """Names for the help."""
        return list(self.modules)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name; UsageError with the nearest one when there is none."""
        module = self.modules.get(cmd_name)
        if module is None:
            raise _unknown(ctx.command_path, cmd_name, self.modules)
        command = typer.main.get_command(import_module(module).app)
        command.name = cmd_name
        return command


class Verbs(LazyGroup):
    """The verbs of the root command."""

    modules = VERBS


def _unknown(parent: str, name: str, known: Mapping[str, str]) -> UsageError:
    guess = nearest(name, known)
    hint = f"did you mean '{parent} {guess}'?" if guess else f"there are: {', '.join(known)}"
    return UsageError(f"there is no command '{parent} {name}'; {hint}")


def _show_version(*, asked: bool) -> None:
    if asked:
        typer.echo(f"stretto {stretto.__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=Verbs, add_completion=False, no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]}
)


@app.callback()
def stretto_command(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Run an LLM-agent workflow, keep a record of everything it does, and train it from its own runs."""
