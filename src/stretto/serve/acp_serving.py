"""Runs a desk behind its doors until SIGTERM or Ctrl-C, and lets go of them in order."""

import asyncio
import gc
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Final, Protocol, TypeAlias

import msgspec
import uvicorn

from stretto.acp.server.desk import Desk
from stretto.acp.server.tokens import Tokens
from stretto.serve.acp_guard import guarded
from stretto.serve.acp_http import AcpHttp, App
from stretto.serve.acp_metrics import AcpMetrics
from stretto.serve.acp_tls import Tls
from stretto.serve.listening import address_of, listen
from stretto.serve.stopping import closed, drained, stop_signals

KEEP_ALIVE_S: Final = 65
"""Longer than clients keep an idle connection (aiohttp 15 s, most balancers 60 s): where the server closes first, a
request that was just sent is lost."""

_COLLECT_AFTER: Final = 20_000
"""Objects more than at the last collection: those of some 300 calls in flight."""

_FLUSH_S: Final = 1
"""For answers that are being written when the grace is over."""

Beside: TypeAlias = Callable[[App, AcpMetrics], App]
"""What answers other paths over HTTP: of the protocol's application it makes the one to serve."""


class Doors(msgspec.Struct, frozen=True, kw_only=True):
    """Where a desk is reached, and by whom."""

    http: tuple[str, int] | None = None
    """Host and port; None is not served, port 0 takes a free one."""
    grpc: tuple[str, int] | None = None
    tokens: Tokens | None = None
    """None lets everybody in."""
    tls: Tls | None = None
    beside: Beside | None = None


class Door(Protocol):
    """One transport of a desk."""

    @property
    def url(self) -> str:
        """Where it is, as a client writes it."""
        ...

    async def open(self) -> None:
        """Take requests from now on."""
        ...

    async def drain(self) -> None:
        """Tell whoever asks about health that the server is about to stop; requests are still read."""
        ...

    async def close(self, *, at_once: bool) -> None:
        """Let requests in progress be written, or not, and let go of the connections."""
        ...


class HttpDoor:
    """HTTP by uvicorn, at a socket that listens already."""

    def __init__(
        self,
        desk: Desk,
        listening: socket.socket,
        *,
        tokens: Tokens | None,
        metrics: AcpMetrics,
        tls: Tls | None,
        beside: Beside | None = None,
    ) -> None:
        protocol = AcpHttp(desk, tokens, metrics)
        config = uvicorn.Config(
            protocol if beside is None else beside(protocol, metrics),
            http=guarded(desk.limits.body_s),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # who asks is told by its token, and nothing else of it is looked at
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=_FLUSH_S,
            ssl_certfile=None if tls is None else tls.cert,
            ssl_keyfile=None if tls is None else tls.key,
            ssl_ca_certs=None if tls is None or tls.client_ca is None else str(tls.client_ca),
            ssl_cert_reqs=ssl.CERT_NONE if tls is None or tls.client_ca is None else ssl.CERT_REQUIRED,
        )
        self._server = _Server(config)
        self._listening = listening
        self._is_tls = tls is not None
        self._serving: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        plain = address_of(self._listening)
        return plain.replace("http:", "https:", 1) if self._is_tls else plain

    async def open(self) -> None:
        self._serving = asyncio.create_task(self._server.serve(sockets=[self._listening]))
        await self._server.ready.wait()

    async def drain(self) -> None:
        """Nothing: ``/readyz`` asks the desk."""

    async def close(self, *, at_once: bool) -> None:
        self._server.should_exit = True
        self._server.force_exit = at_once
        if self._serving is not None:
            await self._serving


class _Server(uvicorn.Server):
    """Leaves signals to whoever runs it, and says when it is ready."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve_desk(
    desk: Desk,
    doors: Doors,
    *,
    grace_s: float,
    when_ready: Callable[[Mapping[str, str]], None],
    when_stopping: Callable[[int], None],
) -> bool:
    """Answer until a signal, then drain: not ready first, calls in progress answered within the grace, then gone.

    `when_ready` is told the address of each door, `when_stopping` how many calls are in progress. A second signal ends
    it at once. Returns whether every call in progress was answered.
    """
    opened: list[Door] = []
    with stop_signals() as stop, ExitStack() as sockets:
        made = _made(desk, doors, sockets)
        await desk.open()
        try:
            for door in made.values():
                await door.open()
                opened.append(door)
            _tune_collector()
            when_ready({name: door.url for name, door in made.items()})
            await stop.first.wait()
            when_stopping(desk.in_progress)
            for door in opened:
                await door.drain()
            return await drained(desk, grace_s, stop.second)
        finally:
            for door in opened:
                await door.close(at_once=stop.second.is_set())
            await closed(desk, stop.second)


def _made(desk: Desk, doors: Doors, sockets: ExitStack) -> dict[str, Door]:
    """The doors by what they are called. Raises UsageError for a place that cannot be had."""
    metrics, made = AcpMetrics(desk), dict[str, Door]()
    if doors.http is not None:
        listening = sockets.enter_context(listen(*doors.http))
        made["http"] = HttpDoor(
            desk, listening, tokens=doors.tokens, metrics=metrics, tls=doors.tls, beside=doors.beside
        )
    if doors.grpc is not None:
        from stretto.serve.acp_grpc import GrpcDoor  # its packages are those of another extra

        made["grpc"] = GrpcDoor(desk, doors.grpc, tokens=doors.tokens, metrics=metrics, tls=doors.tls)
    return made


def _tune_collector() -> None:
    """Keep Python's cyclic collector from what it cannot free: what was loaded stays, what a call makes dies with it.

    A call in flight is some sixty objects, so that by the usual threshold of 700 every eleventh set a collection off,
    which took a tenth of a call.
    """
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER, *gc.get_threshold()[1:])
