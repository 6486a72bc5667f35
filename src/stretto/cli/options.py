"""Options that several verbs share, written once."""

from pathlib import Path
from typing import Annotated

import typer

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

WorkflowFile = Annotated[Path, typer.Argument(metavar="FILE", help="A workflow file.", show_default=False)]

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
    typer.Option("--workflow", metavar="FILE", help="The workflow file. [default: workflow.yaml]", show_default=False),
]
