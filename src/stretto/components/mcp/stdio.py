"""A server process, spoken to in lines of JSON over its standard input and output.

The SDK has such a transport too; this one bounds what a server may send, and knows how it ended and what it said
last, which is what people need to mend it.
"""

import asyncio
import contextlib
import logging
import os
import shutil
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from stretto.components.mcp.errors import UnreadableMessageError

if TYPE_CHECKING:  # the SDK names this type in a private module only
    from mcp.client._transport import TransportStreams

_log: Final = logging.getLogger(__name__)

EXIT_GRACE_S: Final = 2.0
"""After its input is closed, and again after SIGTERM: what the specification's shutdown sequence leaves open."""

MAX_NOISE_LINES: Final = 100
"""Lines that are no messages, in a row: a banner passes, a server that prints its log on standard output does not."""

STDERR_TAIL_BYTES: Final = 4096
STDERR_TAIL_LINES: Final = 5


class StdioTransport(AbstractAsyncContextManager["TransportStreams"]):
    """Runs the command while it is entered. `on_end` is told as soon as nothing more can come from it."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path | None,
        max_message_bytes: int,
        on_end: Callable[[], None],
    ) -> None:
        self._command = command
        self._env = {**get_default_environment(), **env}
        self._cwd = cwd
        self._max_message_bytes = max_message_bytes
        self._on_end = on_end
        self._process: asyncio.subprocess.Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._streams: list[MemoryObjectSendStream[SessionMessage] | MemoryObjectReceiveStream[SessionMessage]] = []
        self._stderr = b""
        self._trouble = ""
        """What it did that ended the conversation; empty when it just ended."""

    @property
    def why(self) -> str:
        """How it ended and what it said last, in words."""
        parts = [self._trouble] if self._trouble else []
        if self._process is not None and not self._trouble:
            parts.append(_ending(self._process.returncode))
        lines = self._stderr.decode(errors="replace").splitlines()[-STDERR_TAIL_LINES:]
        parts.append("it said nothing on stderr" if not lines else "its last words on stderr:\n  " + "\n  ".join(lines))
        return "; ".join(parts)

    async def __aenter__(self) -> "TransportStreams":
        """Raises OSError when the command cannot be started."""
        process = self._process = await asyncio.create_subprocess_exec(
            *_resolved(self._command),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self._env,
            cwd=self._cwd,
            limit=self._max_message_bytes,
            start_new_session=True,  # Ctrl-C in the terminal is ours to act on; its children end with it
        )
        to_session, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        to_server, from_session = anyio.create_memory_object_stream[SessionMessage](0)
        self._streams = [to_session, from_server, to_server, from_session]  # type: ignore[list-item]  # closed alike
        self._tasks = [
            asyncio.create_task(self._read(process, to_session)),
            asyncio.create_task(self._write(process, from_session)),
            asyncio.create_task(self._listen(process)),
        ]
        return from_server, to_server

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Ask the process to end, make it end, and release everything."""
        if self._process is None:
            return
        try:
            await _stop(self._process, 0.0 if self._trouble else EXIT_GRACE_S)
        finally:
            for stream in self._streams:
                stream.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _read(
        self, process: asyncio.subprocess.Process, session: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> None:
        assert process.stdout is not None
        try:
            with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # our side is closing
                await self._pass_on(process.stdout, session)
        finally:
            self._on_end()
            session.close()
        while await process.stdout.read(65_536):  # what still comes: a server that waits for room to write cannot end
            pass

    async def _pass_on(
        self, stdout: asyncio.StreamReader, session: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> None:
        noise = 0
        while line := await self._line(stdout):
            message = _parsed(line)
            if message is not None:
                noise = 0
                await session.send(message)
            elif (unreadable := _unreadable(line)) is not None:
                await session.send(unreadable)  # whichever call it answered, its answer cannot come any more
            elif line.strip():
                noise += 1
                _log.debug("not a message on standard output: %r", line[:200])
                if noise > MAX_NOISE_LINES:
                    text = line[:80].decode(errors="replace").strip()
                    self._trouble = f"it printed {noise} lines on standard output that are no messages, like {text!r}"
                    return

    async def _line(self, stdout: asyncio.StreamReader) -> bytes:
        """The next line; empty at the end, or when it is too long to be read."""
        try:
            return await stdout.readuntil(b"\n")
        except asyncio.IncompleteReadError as cut:
            return cut.partial
        except asyncio.LimitOverrunError:
            self._trouble = f"it sent a message of more than {self._max_message_bytes:,} bytes, the limit"
            return b""

    async def _write(
        self, process: asyncio.subprocess.Process, session: MemoryObjectReceiveStream[SessionMessage]
    ) -> None:
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            async for message in session:
                process.stdin.write(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                await process.stdin.drain()

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        while chunk := await process.stderr.read(STDERR_TAIL_BYTES):
            self._stderr = (self._stderr + chunk)[-STDERR_TAIL_BYTES:]


def _resolved(command: Sequence[str]) -> Sequence[str]:
    """The command with its program found: on the PATH, or beside the running Python, where a package's scripts are."""
    found = shutil.which(command[0]) or shutil.which(command[0], path=str(Path(sys.executable).parent))
    return [found or command[0], *command[1:]]


def _parsed(line: bytes) -> SessionMessage | None:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        return None


def _unreadable(line: bytes) -> UnreadableMessageError | None:
    """The error of a line that was meant as a message: broken text, a lone surrogate, too many levels, no id."""
    if not line.lstrip().startswith(b"{") or b'"jsonrpc"' not in line:
        return None
    return UnreadableMessageError(f"{line[:80].decode(errors='replace').strip()!r}, of {len(line):,} bytes")


async def _stop(process: asyncio.subprocess.Process, grace_s: float) -> None:
    """Close its input and wait; then SIGTERM to it and its children and wait; then SIGKILL."""
    if process.stdin is not None:
        process.stdin.close()
    for sign, wait_s in ((None, grace_s), (signal.SIGTERM, EXIT_GRACE_S), (signal.SIGKILL, EXIT_GRACE_S)):
        if sign is not None:
            _signal_group(process, sign)
        try:
            async with asyncio.timeout(wait_s):
                await process.wait()
        except TimeoutError:
            continue
        return
    _log.warning("process %d is still alive after SIGKILL; it is left behind", process.pid)


def _signal_group(process: asyncio.subprocess.Process, sign: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, sign)


def _ending(returncode: int | None) -> str:
    if returncode is None:
        return "it closed its output"
    if returncode < 0:
        return f"it was killed by {signal.Signals(-returncode).name}"
    return f"it ended with exit code {returncode}"
