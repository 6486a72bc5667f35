"""The two ends of a connection without a network: what comes is fed by a test, what is written is kept."""

import asyncio
from typing import Any, TypeVar

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

P = TypeVar("P", bound=HttpToolsProtocol)


class Transport(asyncio.Transport):
    """Keeps what is written; where its client takes nothing, it says so as one of a network does."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.is_taken = True
        self.reads = True
        self.ended = ""
        self.protocol: Any = None

    def write(self, data: Any) -> None:
        self.written += data
        if not self.is_taken:
            self.protocol.pause_writing()

    def get_write_buffer_size(self) -> int:
        return 0 if self.is_taken else len(self.written)

    def is_closing(self) -> bool:
        return bool(self.ended)

    def close(self) -> None:
        self.ended = "closed"

    def abort(self) -> None:
        self.ended = "aborted"

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True


def connected(kind: type[P], app: Any) -> tuple[P, Transport]:
    """A connection to an application."""
    config = uvicorn.Config(app, http=kind, log_config=None, lifespan="off")
    config.load()
    connection, transport = kind(config, ServerState(), {}), Transport()
    transport.protocol = connection
    connection.connection_made(transport)
    return connection, transport
