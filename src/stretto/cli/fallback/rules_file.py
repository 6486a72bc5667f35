"""The file of rules that a verb is about."""

from pathlib import Path
from typing import Annotated

import typer

from stretto.components.rules.settings import need_engine

RulesFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="A JDM decision model, as GoRules' editor saves it.", show_default=False)
]


def need_rules() -> None:
    """Raise MissingExtraError unless the engine of rules is installed."""
    need_engine("stretto fallback")
