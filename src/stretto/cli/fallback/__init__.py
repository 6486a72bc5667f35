"""`stretto fallback`: rules that answer when nothing else does, checked, tested and served apart."""

import typer

from stretto.cli.app import LazyGroup


class FallbackVerbs(LazyGroup):
    """The verbs on rules."""

    modules = {  # noqa: RUF012  # declared ClassVar by the base
        "check": "stretto.cli.fallback.check",
        "test": "stretto.cli.fallback.test",
        "serve": "stretto.cli.fallback.serve",
    }


app = typer.Typer(cls=FallbackVerbs, add_completion=False, no_args_is_help=True)


@app.callback()
def fallback() -> None:
    """Check, test and serve the rules of a business fallback."""
