"""Options by which what serves the protocol is reached and guarded: the same for components and for workflows."""

from pathlib import Path
from typing import Annotated, Any

import typer


def http_option(default: str) -> Any:  # Any: typer's own
    """``--http``, where each verb has a port of its own."""
    return typer.Option(
        "--http",
        metavar="HOST:PORT",
        help=f"Where to answer HTTP; port 0 takes a free one. [default: {default}, without --grpc]",
        show_default=False,
    )


Grpc = Annotated[
    str | None, typer.Option("--grpc", metavar="HOST:PORT", help="Where to answer gRPC.", show_default=False)
]

MaxQueued = Annotated[
    int, typer.Option("--max-queued", metavar="N", min=0, help="Calls that wait for that; more are refused.")
]

MaxRequestBytes = Annotated[int, typer.Option("--max-request-bytes", metavar="N", min=1, help="Largest request.")]

TlsCert = Annotated[
    Path | None, typer.Option("--tls-cert", metavar="PEM", help="Certificate chain.", show_default=False)
]

TlsKey = Annotated[Path | None, typer.Option("--tls-key", metavar="PEM", help="Its key.", show_default=False)]

TokenEnv = Annotated[
    str | None,
    typer.Option(
        "--token-env",
        metavar="NAME",
        help="Environment variable with the bearer tokens that are accepted.",
        show_default=False,
    ),
]

TokenFile = Annotated[
    Path | None, typer.Option("--token-file", metavar="PATH", help="File of them, one a line.", show_default=False)
]
