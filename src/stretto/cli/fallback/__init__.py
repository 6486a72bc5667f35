"""`stretto fallback`: what answers when nothing else does; checked, tested, served apart, and exercised before it is
needed."""

import typer

from stretto.cli.app import LazyGroup


class FallbackVerbs(LazyGroup):
    """The verbs on rules, and on the fallback of a workflow."""

    modules = {  # noqa: RUF012  # declared ClassVar by the base
        "check": "stretto.cli.fallback.check",
        "test": "stretto.cli.fallback.test",
        "serve": "stretto.cli.fallback.serve",
        "status": "stretto.cli.fallback.status",
        "exercise": "stretto.cli.fallback.exercise",
    }


app = typer.Typer(cls=FallbackVerbs, add_completion=False, no_args_is_help=True)


@app.callback()
def fallback() -> None:
    """Check, test and serve the rules of a business fallback; exercise that of a workflow, and see that it is well."""
