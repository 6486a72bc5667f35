"""`stretto acp serve`: components in a process of their own, behind the protocol."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from stretto.acp.names import Report
from stretto.cli.acp.doors import Grpc, MaxQueued, MaxRequestBytes, TlsCert, TlsKey, TokenEnv, TokenFile, http_option
from stretto.cli.acp.place import read_place
from stretto.cli.acp.served_file import components_of
from stretto.cli.help import VerbCommand
from stretto.cli.options import AsJson
from stretto.cli.stopping import run_async
from stretto.cli.terminal import note, print_json
from stretto.components.web_address import is_here
from stretto.types.errors import MissingExtraError, UsageError

if TYPE_CHECKING:  # it imports what the extra brings
    from stretto.serve.acp_serving import Doors
    from stretto.serve.acp_tls import Tls

DEFAULT_HTTP: Final = ":8081"
"""Where HTTP is answered when no door is named."""

app = typer.Typer(add_completion=False)


@app.command(cls=VerbCommand)
def serve(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="components.py, a file that declares components, or a workflow with its components.",
            show_default=False,
        ),
    ],
    http: Annotated[str | None, http_option(DEFAULT_HTTP)] = None,
    grpc: Grpc = None,
    max_concurrent: Annotated[
        int, typer.Option("--max-concurrent", metavar="N", min=1, help="Calls that are worked on at once.")
    ] = 64,
    max_queued: MaxQueued = 256,
    max_request_bytes: MaxRequestBytes = 4194304,
    max_seconds: Annotated[
        float, typer.Option("--max-seconds", metavar="S", min=0.001, help="The longest that one call may take.")
    ] = 300.0,
    grace: Annotated[
        float, typer.Option("--grace", metavar="S", min=0, help="For calls in progress when it is told to stop.")
    ] = 10.0,
    withheld: Annotated[
        list[Report] | None,
        typer.Option(
            "--withhold",
            metavar="actions|model_calls",
            help="Tell callers nothing of the choices, or of the model calls with their prompts. May be repeated.",
            show_default=False,
        ),
    ] = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    tls_client_ca: Annotated[
        Path | None,
        typer.Option(
            "--tls-client-ca", metavar="PEM", help="Callers must show a certificate of it.", show_default=False
        ),
    ] = None,
    token_env: TokenEnv = None,
    token_file: TokenFile = None,
    as_json: AsJson = False,
) -> None:
    """Answer the protocol for these components until SIGTERM or Ctrl-C; health at /livez, /readyz, figures at /metrics.

    Without HOST only this machine reaches it. With --json what is served, and where, is the document on stdout,
    printed once requests are taken.
    """
    _need_extras(with_grpc=grpc is not None)
    from stretto.acp.server import Desk, Limits
    from stretto.acp.server.tokens import read_tokens
    from stretto.serve.acp_serving import Doors, serve_desk
    from stretto.serve.listening import fast_loop

    doors = Doors(
        http=read_place("--http", http or DEFAULT_HTTP) if http or not grpc else None,
        grpc=read_place("--grpc", grpc) if grpc else None,
        tokens=read_tokens(token_env, token_file),
        tls=tls_of(tls_cert, tls_key, tls_client_ca),
    )
    limits = Limits(
        max_concurrent=max_concurrent,
        max_queued=max_queued,
        max_request_bytes=max_request_bytes,
        max_call_s=max_seconds,
        withheld=frozenset(withheld or ()),
    )
    desk = Desk(components_of(file), limits)
    warn_of_strangers(doors)

    def tell(urls: Mapping[str, str]) -> None:
        names = [served.card.name for served in desk.served]
        if as_json:
            print_json({**urls, "file": str(file), "components": [*names]})
        else:
            note(f"serving {', '.join(names)} at {', '.join(urls.values())}; Ctrl-C or SIGTERM stops it")

    run_async(serve_desk(desk, doors, grace_s=grace, when_ready=tell, when_stopping=tell_stopping), fast_loop())


def _need_extras(*, with_grpc: bool) -> None:
    if find_spec("uvicorn") is None or find_spec("prometheus_client") is None:
        raise MissingExtraError("stretto acp serve", "serve")
    if with_grpc and (find_spec("grpc") is None or find_spec("grpc_health") is None):
        raise MissingExtraError("stretto acp serve --grpc", "grpc")


def tls_of(cert: Path | None, key: Path | None, client_ca: Path | None) -> "Tls | None":
    """By what the server proves who it is. Raises UsageError for half of it."""
    if cert is None and key is None and client_ca is None:
        return None
    if cert is None or key is None:
        raise UsageError("TLS needs both --tls-cert and --tls-key")
    from stretto.serve.acp_tls import read_tls

    return read_tls(cert, key, client_ca)


def warn_of_strangers(doors: "Doors") -> None:
    """Say who may call, where that is everybody."""
    hosts = [place[0] for place in (doors.http, doors.grpc) if place is not None and not is_here(place[0])]
    if hosts and doors.tokens is None:
        note(f"whoever reaches {hosts[0]} may call; --token-env or --token-file says who may")


def tell_stopping(in_progress: int) -> None:
    """Say why it does not end at once."""
    if in_progress:
        note(f"stopping: {in_progress} calls are in progress; a second signal ends them at once")
