"""One life of a connection to a server, from its start to its end, kept by a task of its own.

The SDK's scopes must be entered and left in one task, and calls come from many: so one task owns the connection and
everybody else only sends requests through it, each with its own id.

    starting ──handshake──▶ up ──server or owner ends it──▶ over
        └──refused, or too slow──▶ over
"""

import asyncio
from collections.abc import Callable
from importlib.metadata import version
from typing import Final, Protocol

from mcp import Client
from mcp.client import ClientSession, Transport
from mcp.client.session import IncomingMessage
from mcp_types import Implementation
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS

from stretto.types.errors import Code, ComponentError

CLOSE_GRACE_S: Final = 8.0
"""Longer than the transport's own shutdown, which is bounded; after it the owner is cancelled."""


class Wire(Transport, Protocol):
    """A transport that knows how it ended."""

    @property
    def why(self) -> str:
        """In words; empty when only the exception says."""
        ...


MakeWire = Callable[[Callable[[], None]], Wire]
"""Makes a transport; it calls what it is given as soon as nothing more can come from the server."""


class Life:
    """Starts the server at once; `up` waits until it can be asked."""

    def __init__(self, name: str, make_wire: MakeWire, start_timeout_s: float) -> None:
        loop = asyncio.get_running_loop()
        self._name = name
        self._start_timeout_s = start_timeout_s
        self._wire = make_wire(self.leave)
        self._leaving = asyncio.Event()
        self._why = ""
        self._unreadable = ""
        """What it sent that is no message; empty as long as all could be read."""
        self._start_refused = ""
        """Why its start was ended from here."""
        self._session: asyncio.Future[ClientSession] = loop.create_future()
        self._session.add_done_callback(lambda session: session.cancelled() or session.exception())  # it is read, later
        self._owner = asyncio.create_task(self._own(), name=f"mcp {name}")
        self._alarm = loop.call_later(start_timeout_s, self._give_up)

    @property
    def over(self) -> bool:
        """Nothing can be asked of it any more."""
        return self._leaving.is_set() or self._owner.done()

    async def up(self) -> ClientSession:
        """Wait for the handshake. A cancelled caller leaves the start to the others.

        Raises ComponentError, with `sent` false, when the server cannot be started.
        """
        return await asyncio.shield(self._session)

    def leave(self) -> None:
        """End it, without waiting; also how the transport tells that the server did."""
        self._leaving.set()

    async def ending(self) -> str:
        """How it ended, in words, once everything of it is cleared up; waits at most 8 s."""
        await asyncio.wait({self._owner}, timeout=CLOSE_GRACE_S)
        return self._why

    async def close(self) -> None:
        """End it and wait until the process is gone."""
        self.leave()
        await self.ending()
        if not self._owner.done():
            self._owner.cancel()
            await asyncio.wait({self._owner})

    def _give_up(self) -> None:
        self._refuse_start(f"did not answer the handshake within {self._start_timeout_s:g} s")

    def _refuse_start(self, why: str) -> None:
        self._start_refused = why
        self._owner.cancel()

    async def _notice(self, message: IncomingMessage) -> None:
        """End it when it sent what cannot be read: nobody knows whose answer that was, and who waits would for ever."""
        if not isinstance(message, Exception) or self.over:
            return
        self._unreadable = f"it sent a message that cannot be read: {_first_line(message)}"
        if self._session.done():
            self.leave()
        else:
            self._refuse_start(f"cannot be reached: {self._unreadable}")

    async def _own(self) -> None:
        """The owner: everything about the connection is entered and left here."""
        this = Implementation(name="stretto", version=version("stretto"))
        try:
            async with Client(
                self._wire, mode="auto", cache=None, client_info=this, message_handler=self._notice
            ) as client:
                self._alarm.cancel()
                self._session.set_result(client.session)
                await self._leaving.wait()
        except Exception as error:  # noqa: BLE001  # told to whoever waits for the start, or to whose call was lost
            self._why = _reason(error, self._wire.why)
            self._refuse(self._refusal(error))
        except asyncio.CancelledError:
            if not self._start_refused:
                raise
            self._refuse(self._error(self._start_refused))
        else:
            self._why = "; ".join(filter(None, (self._unreadable, self._wire.why)))
        finally:
            self._alarm.cancel()
            self._leaving.set()
            self._refuse(self._error("was closed while it started"))

    def _refuse(self, error: ComponentError) -> None:
        if not self._session.done():
            self._session.set_exception(error)

    def _refusal(self, error: Exception) -> ComponentError:
        """Why the start failed, and what to do about it."""
        leaf = _leaf(error)
        if isinstance(leaf, FileNotFoundError | PermissionError | NotADirectoryError):
            return self._error(
                f"cannot be started: {leaf.strerror}: '{leaf.filename}'; install it, or give the path of the program",
                Code.FAILED_PRECONDITION,
            )
        if isinstance(leaf, RuntimeError) and "protocol version" in str(leaf):
            ours = ", ".join(KNOWN_PROTOCOL_VERSIONS)
            return self._error(
                f"speaks another version of the protocol. {leaf}; this side speaks {ours}. Use a release of the server "
                "that speaks one of these",
                Code.FAILED_PRECONDITION,
            )
        return self._error(f"cannot be reached: {self._why}")

    def _error(self, text: str, code: Code = Code.UNAVAILABLE) -> ComponentError:
        return ComponentError(f"MCP server '{self._name}' {text}", code, sent=False)


def _leaf(error: BaseException) -> BaseException:
    """The first single error inside what the SDK's task groups wrap it in."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _reason(error: Exception, why: str) -> str:
    leaf = _leaf(error)
    text = f"{type(leaf).__name__}: {_first_line(leaf)}"
    return f"{text}; {why}" if why else text


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or ["no message"])[0]
