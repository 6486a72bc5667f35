"""Runs an application until SIGTERM or Ctrl-C; requests in progress are answered first."""

import asyncio
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from stretto.serve.unswitched import Unswitched
from stretto.types.errors import UsageError
from stretto.types.os_error import reason_of

GRACE_S: Final = 10
"""For requests in progress after a signal; orchestrators kill after thirty seconds as a rule."""

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one. Raises UsageError when the place cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # named, or asyncio leaves Nagle on
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()
    except OSError as error:
        listening.close()
        raise UsageError(f"cannot listen at {host}:{port}: {reason_of(error)}; name another place") from error
    return listening


def address_of(listening: socket.socket) -> str:
    """The address as a client writes it."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(
    app: ASGIApp,
    listening: socket.socket,
    when_ready: Callable[[], None],
    *,
    around: AbstractAsyncContextManager[None] | None = None,
    grace_s: int = GRACE_S,
) -> None:
    """Answer until told to stop; `when_ready` is called once requests are taken.

    `around` is what the application needs while it answers: entered before, and left once all requests in progress are
    answered, or `grace_s` has passed.
    """
    config = uvicorn.Config(
        app,
        http=Unswitched,
        log_config=None,
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=grace_s,
        server_header=False,
    )
    with asyncio.Runner(loop_factory=fast_loop()) as runner:
        runner.run(_serve(_Server(config, when_ready), listening, around or nullcontext()))


async def _serve(server: "_Server", listening: socket.socket, around: AbstractAsyncContextManager[None]) -> None:
    async with around:
        await server.serve(sockets=[listening])


def fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Makes the event loop of uvloop, where it is installed, with a clock that is as fine as asyncio's.

    Its own counts whole milliseconds, and stands still while callbacks run: steps that take less took no time, by the
    records of a served workflow.
    """
    try:
        import uvloop
    except ImportError:  # not on Windows
        return None

    class FineLoop(uvloop.Loop):
        time = staticmethod(time.monotonic)

    return FineLoop


class _Server(uvicorn.Server):
    """Ends by itself after a signal: uvicorn's own would raise the signal again, and a stop be told as a failure."""

    def __init__(self, config: uvicorn.Config, when_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._when_ready = when_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._when_ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {each: signal.signal(each, self.handle_exit) for each in _SIGNALS}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)
