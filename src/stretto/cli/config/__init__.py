"""`stretto config`: the figures of a workflow that may be changed while it runs."""

import typer

from stretto.cli.app import LazyGroup


class ConfigVerbs(LazyGroup):
    """The verbs on settings."""

    modules = {  # noqa: RUF012  # declared ClassVar by the base
        "list": "stretto.cli.config.listing",
        "set": "stretto.cli.config.setting",
        "unset": "stretto.cli.config.unset",
        "history": "stretto.cli.config.history",
    }


app = typer.Typer(cls=ConfigVerbs, add_completion=False, no_args_is_help=True)


@app.callback()
def config() -> None:
    """Change time-outs, retries, breakers and bulkheads of a workflow while it runs."""
