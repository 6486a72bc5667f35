"""`stretto fallback serve`: rules in a process of their own, with health and metrics of their own."""

import os
from importlib.util import find_spec
from typing import Annotated

import typer

from stretto.cli.fallback.rules_file import RulesFile, need_rules
from stretto.cli.help import VerbCommand
from stretto.cli.options import AsJson
from stretto.cli.terminal import note, print_json
from stretto.types.errors import MissingExtraError

app = typer.Typer(add_completion=False)


@app.command(cls=VerbCommand)
def serve(
    file: RulesFile,
    host: Annotated[str, typer.Option("--host", metavar="HOST", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="PORT", min=0, max=65535, help="0 takes a free one.")] = 8321,
    max_body_bytes: Annotated[
        int, typer.Option("--max-body-bytes", metavar="N", min=1, help="Largest request.")
    ] = 262144,
    as_json: AsJson = False,
) -> None:
    """Answer POST /v1/decide by these rules until SIGTERM or Ctrl-C; health at /livez and /readyz, figures at /metrics.

    The rules are analysed first, and rules with problems are not served. With --json what is served, and where, is the
    document on stdout, printed once requests are taken.
    """
    need_rules()
    if find_spec("fastapi") is None or find_spec("uvicorn") is None or find_spec("prometheus_client") is None:
        raise MissingExtraError("stretto fallback serve", "serve")
    os.environ.setdefault("RUST_LIB_BACKTRACE", "0")  # under RUST_BACKTRACE=1 each refused input would take 60 ms more
    from stretto.components.rules.analysis import check_rules
    from stretto.components.rules.decision import Decision
    from stretto.serve.listening import address_of, listen, serve
    from stretto.serve.rules_app import rules_app

    analysis = check_rules(file)
    decision = Decision(analysis.files)
    listening = listen(host, port)
    url = address_of(listening)

    def tell() -> None:
        if as_json:
            print_json({"url": url, "file": str(file), "digest": decision.digest})
        else:
            note(f"serving {file} at {url}; Ctrl-C or SIGTERM stops it")

    serve(rules_app(decision, analysis.files.main, max_body_bytes), listening, tell)
