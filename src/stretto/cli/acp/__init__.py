"""`stretto acp`: components that speak the protocol; served, held to it, and looked at."""

import typer

from stretto.cli.app import LazyGroup


class AcpVerbs(LazyGroup):
    """The verbs on components that speak the protocol."""

    modules = {  # noqa: RUF012  # declared ClassVar by the base
        "serve": "stretto.cli.acp.serve",
        "wrap": "stretto.cli.acp.wrap",
        "describe": "stretto.cli.acp.describe",
        "reflect": "stretto.cli.acp.reflect",
        "verify": "stretto.cli.acp.verify",
        "openapi": "stretto.cli.acp.openapi",
        "proto": "stretto.cli.acp.proto",
    }


app = typer.Typer(cls=AcpVerbs, add_completion=False, no_args_is_help=True)


@app.callback()
def acp() -> None:
    """Serve components in the Agent Communication Protocol, and hold those of others to it."""
