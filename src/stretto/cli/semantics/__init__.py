"""`stretto semantics`: what texts mean of a contract's domains, tried, corrected and learnt."""

import typer

from stretto.cli.app import LazyGroup


class SemanticsVerbs(LazyGroup):
    """The verbs on meaning."""

    modules = {  # noqa: RUF012  # declared ClassVar by the base
        "test": "stretto.cli.semantics.testing",
        "label": "stretto.cli.semantics.label",
        "train": "stretto.cli.semantics.train",
        "report": "stretto.cli.semantics.report",
    }


app = typer.Typer(cls=SemanticsVerbs, add_completion=False, no_args_is_help=True)


@app.callback()
def semantics() -> None:
    """Test, label, train and report how texts are aligned to the domains of a contract."""
