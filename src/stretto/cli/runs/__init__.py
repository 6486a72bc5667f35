"""`stretto runs`: the verbs on recorded runs."""

import typer

from stretto.cli.app import LazyGroup


class RunVerbs(LazyGroup):
    """The verbs on recorded runs."""

    modules = {  # noqa: RUF012  # declared ClassVar by the base
        "list": "stretto.cli.runs.listing",
        "show": "stretto.cli.runs.show",
        "resume": "stretto.cli.runs.resume",
        "export": "stretto.cli.runs.export",
        "samples": "stretto.cli.runs.samples",
        "import": "stretto.cli.runs.importing",
        "delete": "stretto.cli.runs.delete",
    }


app = typer.Typer(cls=RunVerbs, add_completion=False, no_args_is_help=True)


@app.callback()
def runs() -> None:
    """List, show, resume, export, import and delete recorded runs, and make samples for a trainer of them."""
