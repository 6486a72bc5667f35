"""Options that several verbs share, written once."""

from pathlib import Path
from typing import Annotated, Final

import typer

from stretto.types.errors import UsageError

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else there.")]

StorePath = Annotated[
    Path | None,
    typer.Option(
        "--store",
        metavar="PATH",
        help="Where runs are kept. [default: $STRETTO_STORE, else .stretto/runs.db]",
        show_default=False,
    ),
]

DEFAULT_WORKFLOW: Final = Path("workflow.yaml")
"""The workflow file that is meant when none is named."""


def _there_when_not_given(context: typer.Context, parameter: typer.CallbackParam, value: Path) -> Path:
    """The file, in a folder that was named the one by the usual name; UsageError when none was named and there is none
    by that. One that was named, its reader speaks of."""
    if value.is_dir():
        return value / DEFAULT_WORKFLOW
    source = context.get_parameter_source(str(parameter.name))
    if source is not None and source.name == "DEFAULT" and not value.is_file():
        flag = f"--{parameter.name} FILE" if parameter.param_type_name == "option" else "FILE"
        raise UsageError(f"no {flag} was given, and there is no {value} in this folder; name a workflow file")
    return value


WorkflowFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help=f"A workflow file, or the folder of one. [default: {DEFAULT_WORKFLOW}]",
        show_default=False,
        callback=_there_when_not_given,
    ),
]


def _in_folders(values: list[Path]) -> list[Path]:
    """The files, in each folder that was named the one by the usual name."""
    return [each / DEFAULT_WORKFLOW if each.is_dir() else each for each in values]


WorkflowFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="WORKFLOW",
        help="Workflow files, or the folders of such.",
        show_default=False,
        callback=_in_folders,
    ),
]

Baggage = Annotated[
    list[str] | None,
    typer.Option(
        "--baggage",
        metavar="NAME=TEXT",
        help="Reaches every component; only its name is recorded. May be repeated.",
    ),
]

Checkpoint = Annotated[
    list[str] | None,
    typer.Option(
        "--checkpoint",
        metavar="NAME=PATH|FOLDER",
        help="Weights that training wrote, for the component NAME, or FOLDER of a joint training; may be repeated.",
    ),
]

RunRef = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="A run's id, its beginning when that is enough, its workflow_run_id, or `last`.",
        show_default=False,
    ),
]

WorkflowOption = Annotated[
    Path,
    typer.Option(
        "--workflow",
        metavar="FILE",
        help=f"The workflow file, or its folder. [default: {DEFAULT_WORKFLOW}]",
        show_default=False,
        callback=_there_when_not_given,
    ),
]
