"""`stretto gateway`: an agent of any framework points its `base_url` here, and its calls become runs."""

import logging
import sys
from datetime import timedelta
from importlib.util import find_spec
from typing import Annotated, Final

import typer
from rich.text import Text

from stretto.cli.help import VerbCommand
from stretto.cli.options import AsJson, StorePath
from stretto.cli.terminal import note, notes, print_json
from stretto.cli.values import read_choice, read_object
from stretto.runtime.load import store_path
from stretto.spec.durations import EXPECTED, duration_or_none, remedy
from stretto.spec.source import printable
from stretto.store.sqlite import Store
from stretto.types.errors import MissingExtraError, UsageError

SWITCH_S: Final = 0.0005
"""After which one thread asks another for the interpreter. The thread that writes runs behind has much to do beside the
loop; at Python's own 5 ms a call waits for it, and 64 at once come to 300 a second in place of 900."""

GRACE_S: Final = 25
"""For calls under way after a signal: models take their time, and orchestrators kill after thirty seconds as a rule."""

app = typer.Typer(add_completion=False)


@app.command(cls=VerbCommand)
def gateway(
    upstream: Annotated[
        str,
        typer.Option("--upstream", metavar="URL", help="The model server; ends in /v1 as a rule.", show_default=False),
    ],
    key_env: Annotated[
        str, typer.Option("--key-env", metavar="NAME", help="Environment variable that holds its key.")
    ] = "",
    token_env: Annotated[
        str,
        typer.Option("--token-env", metavar="NAME", help="Environment variable with the tokens that /runs asks for."),
    ] = "",
    extra_body: Annotated[
        str, typer.Option("--extra-body", metavar="JSON", help="Further fields of every request to the server.")
    ] = "{}",
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="The workflow that its runs are told as.")
    ] = "gateway",
    host: Annotated[str, typer.Option("--host", metavar="HOST", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="PORT", min=0, max=65535, help="0 takes a free one.")] = 8330,
    idle: Annotated[
        str, typer.Option("--idle", metavar="DURATION", help="Seal a run after so long without a call.")
    ] = "10m",
    timeout: Annotated[str, typer.Option("--timeout", metavar="DURATION", help="For one call.")] = "10m",
    max_calls: Annotated[int, typer.Option("--max-calls", metavar="N", min=1, help="Calls at once.")] = 256,
    max_runs: Annotated[int, typer.Option("--max-runs", metavar="N", min=1, help="Runs open at once.")] = 1000,
    max_body_bytes: Annotated[
        int, typer.Option("--max-body-bytes", metavar="N", min=1, help="Largest request.")
    ] = 16777216,
    max_answer_bytes: Annotated[
        int, typer.Option("--max-answer-bytes", metavar="N", min=1, help="Largest answer of the server.")
    ] = 67108864,
    whole: Annotated[
        bool, typer.Option("--whole", help="Ask for whole answers even where an agent asks for a stream.")
    ] = False,
    on_stop: Annotated[
        str, typer.Option("--on-stop", metavar="leave|end", help="What becomes of open runs when it stops.")
    ] = "leave",
    store: StorePath = None,
    as_json: AsJson = False,
) -> None:
    """Take OpenAI-compatible calls of any agent, hand them on to a model server, and record them as runs.

    An agent needs nothing but its base_url: http://HOST:PORT/run/KEY/v1, with a key of its own for each run. POST /runs
    opens one with labels; /runs/KEY/reward and /runs/KEY/end say what became of it. Health is at /livez and /readyz,
    figures at /metrics. Until SIGTERM or Ctrl-C; calls under way then have 25 s.
    """
    if any(find_spec(package) is None for package in ("uvicorn", "starlette", "prometheus_client")):
        raise MissingExtraError("stretto gateway", "serve")
    from stretto.serve.gateway.app import Gateway
    from stretto.serve.gateway.settings import GatewaySettings, OnStop
    from stretto.serve.listening import address_of, listen, serve

    settings = GatewaySettings(
        upstream=upstream,
        key_env=key_env,
        token_env=token_env,
        extra_body=read_object(extra_body, "--extra-body"),
        name=name,
        idle=_duration("--idle", idle),
        timeout=_duration("--timeout", timeout),
        max_calls=max_calls,
        max_runs=max_runs,
        max_body_bytes=max_body_bytes,
        max_answer_bytes=max_answer_bytes,
        whole=whole,
        on_stop=read_choice(on_stop, OnStop, "--on-stop"),
    )
    path = store_path(store)
    served = Gateway(Store(path), settings)
    listening = listen(host, port)
    url = address_of(listening)

    def tell() -> None:
        if as_json:
            print_json({"url": url, "upstream": settings.upstream, "store": str(path)})
        else:
            note(f"calls to {url}/run/KEY/v1 go to {settings.upstream}, kept in {path}; Ctrl-C or SIGTERM stops it")

    sys.setswitchinterval(SWITCH_S)
    logging.getLogger("stretto").addHandler(_Told())
    serve(served, listening, tell, around=served.living(), grace_s=GRACE_S)


class _Told(logging.Handler):
    """Says what is worth a person's attention, a line each: what could not be recorded, what goes on elsewhere."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)

    def emit(self, record: logging.LogRecord) -> None:
        notes().print(Text(printable(self.format(record))), soft_wrap=True)


def _duration(option: str, text: str) -> timedelta:
    duration = duration_or_none(text)
    if duration is None:
        hint = remedy(text)
        raise UsageError(f"{option} is '{text}'; expected {EXPECTED}" + (f"; did you mean {hint}?" if hint else ""))
    return duration
