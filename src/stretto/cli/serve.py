"""`stretto serve`: workflows as components of other servers, as tools, and as models."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from stretto.cli.acp.doors import Grpc, MaxQueued, MaxRequestBytes, TlsCert, TlsKey, TokenEnv, TokenFile, http_option
from stretto.cli.acp.place import read_place
from stretto.cli.acp.serve import tell_stopping, tls_of, warn_of_strangers
from stretto.cli.checkpoints import each_with_checkpoints, read_checkpoints
from stretto.cli.help import VerbCommand
from stretto.cli.options import AsJson, Checkpoint, StorePath, WorkflowFiles
from stretto.cli.stopping import run_async
from stretto.cli.terminal import note, print_json
from stretto.components.web_address import is_here
from stretto.runtime.load import load, store_path
from stretto.runtime.workflow import Workflow
from stretto.spec.declarations import load_declarations
from stretto.store.sqlite import Store
from stretto.types.errors import MissingExtraError, SpecError, UsageError
from stretto.types.json import JsonObject

if TYPE_CHECKING:  # it imports what the extra brings
    from stretto.acp.server.tokens import Tokens
    from stretto.serve.faces.serving import ChatNames, Faces
DEFAULT_HTTP: Final = ":8080"
"""Where HTTP is answered when no door is named."""

FACES: Final = ("mcp", "openai")

app = typer.Typer(add_completion=False)


@app.command(cls=VerbCommand)
def serve(
    files: WorkflowFiles,
    http: Annotated[str | None, http_option(DEFAULT_HTTP)] = None,
    grpc: Grpc = None,
    mcp_stdio: Annotated[
        bool, typer.Option("--mcp-stdio", help="Answer as an MCP server on stdin and stdout, and nowhere else.")
    ] = False,
    face: Annotated[
        list[str] | None,
        typer.Option(
            "--face",
            metavar="mcp|openai",
            help="What else they are over HTTP; may be repeated. [default: both, as far as they fit]",
            show_default=False,
        ),
    ] = None,
    chat_input: Annotated[
        str | None,
        typer.Option("--chat-input", metavar="FIELD", help="Input field of the user's message.", show_default=False),
    ] = None,
    chat_output: Annotated[
        str | None,
        typer.Option("--chat-output", metavar="FIELD", help="Output field that is the reply.", show_default=False),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show runs at /runs, and explain them, to whoever may call.")
    ] = False,
    max_concurrent: Annotated[
        int, typer.Option("--max-concurrent", metavar="N", min=1, help="Runs that are worked on at once.")
    ] = 64,
    max_queued: MaxQueued = 256,
    max_request_bytes: MaxRequestBytes = 4194304,
    max_seconds: Annotated[
        float, typer.Option("--max-seconds", metavar="S", min=0.001, help="The longest that one run may take.")
    ] = 300.0,
    grace: Annotated[
        float, typer.Option("--grace", metavar="S", min=0, help="For runs in progress when it is told to stop.")
    ] = 10.0,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    token_env: TokenEnv = None,
    token_file: TokenFile = None,
    checkpoint: Checkpoint = None,
    store: StorePath = None,
    as_json: AsJson = False,
) -> None:
    """Serve workflows until SIGTERM or Ctrl-C: as components of other servers, as tools (MCP), and as models (OpenAI).

    Each call is a run, kept in the store. Without HOST only this machine reaches it; health is at /livez and /readyz,
    figures at /metrics. With --json what is served, and where, is the document on stdout, once requests are taken.
    """
    _need_extras(with_grpc=grpc is not None, with_mcp=mcp_stdio or "mcp" in (face or ()))
    from stretto.acp.server import Limits
    from stretto.acp.server.tokens import read_tokens
    from stretto.serve.acp_serving import Doors, serve_desk
    from stretto.serve.faces.serving import ChatNames, Faces
    from stretto.serve.listening import fast_loop

    limits = Limits(
        max_concurrent=max_concurrent,
        max_queued=max_queued,
        max_request_bytes=max_request_bytes,
        max_call_s=max_seconds,
    )
    if mcp_stdio:
        _hold_to_stdio(
            {
                "--http": http,
                "--grpc": grpc,
                "--face": face,
                "--explain": explain,
                "--chat-input": chat_input,
                "--chat-output": chat_output,
                "--tls-cert": tls_cert,
                "--tls-key": tls_key,
                "--token-env": token_env,
                "--token-file": token_file,
                "--json": as_json,
            }
        )
    weights = read_checkpoints(checkpoint or ())
    kept = Store(store_path(store))
    faces = Faces(each_with_checkpoints([_loaded(file, kept) for file in files], weights), limits)
    if mcp_stdio:
        from stretto.serve.faces.stdio import serve_stdio

        run_async(serve_stdio(faces.asking, grace_s=grace, when_stopping=tell_stopping))
        return
    tokens = read_tokens(token_env, token_file)
    at = read_place("--http", http or DEFAULT_HTTP) if http or not grpc else None
    if at is not None:
        names = ChatNames(asked=chat_input, answered=chat_output)
        _put_on(faces, face, names, tokens, is_local=is_here(at[0]))
        if explain:
            faces.add_explanations(tokens)
    elif face or chat_input or chat_output or explain:
        raise UsageError("tools, models and explanations are served over HTTP; add --http HOST:PORT")
    doors = Doors(
        http=at,
        grpc=read_place("--grpc", grpc) if grpc else None,
        tokens=tokens,
        tls=tls_of(tls_cert, tls_key, None),
        beside=faces.beside,
    )
    warn_of_strangers(doors)

    def tell(urls: Mapping[str, str]) -> None:
        _tell(faces, urls, kept.path, as_json=as_json)

    async def answer() -> None:
        async with faces.living():
            await serve_desk(faces.desk, doors, grace_s=grace, when_ready=tell, when_stopping=tell_stopping)

    run_async(answer(), fast_loop())


def _hold_to_stdio(others: Mapping[str, object]) -> None:
    """Raise UsageError for a flag that has no effect on stdin and stdout."""
    given = [flag for flag, value in others.items() if value]
    if given:
        raise UsageError(f"--mcp-stdio answers on stdin and stdout only; leave out {' and '.join(given)}")


def _loaded(file: Path, store: Store) -> Workflow:
    """The workflow; of a file of components, instead of all that makes it none, what serves them."""
    try:
        return load(file, store=store)
    except SpecError:
        if _has_components_only(file):
            told = f"{file} holds components, and no workflow; serve them: stretto acp serve {file}"
            raise UsageError(told) from None
        raise


def _has_components_only(file: Path) -> bool:
    try:
        return file.is_file() and (file.suffix == ".py" or load_declarations(file) is not None)
    except SpecError:
        return False


def _put_on(
    faces: "Faces", asked: Sequence[str] | None, names: "ChatNames", tokens: "Tokens | None", *, is_local: bool
) -> None:
    """The faces that were asked for, or all that can be had."""
    for each in asked or ():
        if each not in FACES:
            raise UsageError(f"--face is '{each}'; expected {' or '.join(FACES)}")
    chosen = asked or FACES
    is_named = names.asked is not None or names.answered is not None
    faces.own_pages_only = is_local and tokens is None
    faces.add_runs(tokens)
    if "openai" in chosen or is_named:
        faces.add_models(names, tokens, must_fit=is_named or "openai" in (asked or ()))
    if "mcp" in chosen and _has("mcp"):
        faces.add_tools(tokens, is_local=is_local)


def _tell(faces: "Faces", urls: Mapping[str, str], store: Path, *, as_json: bool) -> None:
    workflows: JsonObject = {}
    for served in faces.desk.served:
        card = served.card
        workflows[card.name] = {"version": card.version, "digest": card.digest, "effect": str(card.effect_of(""))}
    if as_json:
        print_json({**urls, "store": str(store), "workflows": workflows, "models": [*faces.models]})
        return
    for why in faces.unfit.values():
        note(why)
    note(f"serving {', '.join(workflows)} at {', '.join(urls.values())}, kept in {store}; Ctrl-C or SIGTERM stops it")


def _need_extras(*, with_grpc: bool, with_mcp: bool) -> None:
    if not (_has("uvicorn") and _has("prometheus_client") and _has("starlette")):
        raise MissingExtraError("stretto serve", "serve")
    if with_grpc and not (_has("grpc") and _has("grpc_health")):
        raise MissingExtraError("stretto serve --grpc", "grpc")
    if with_mcp and not _has("mcp"):
        raise MissingExtraError("stretto serve as an MCP server", "mcp")


def _has(package: str) -> bool:
    return find_spec(package) is not None
