"""One process: started in a group of its own, fed and read without waiting for either, and ended with all its group."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, cast

from stretto.components.exec.exits import STDERR_TAIL_BYTES

TERM_GRACE_S: Final = 0.3
"""Between SIGTERM and SIGKILL. Both lie within the second that the engine leaves a cancelled call to clean up."""

DRAIN_S: Final = 0.3
"""After the process has ended, for output still in the pipe. What it left running may hold that open for ever."""

CLOSED_GRACE_S: Final = 1.0
"""After its output was closed, which nearly always means that it has ended, and a busy machine is late to tell."""

LEAVE_GRACE_S: Final = 1.0
"""After its input was closed, for a process that nobody asks any more."""

KILL_WAIT_S: Final = 0.3
"""After SIGKILL, for the system to tell: it tells at once, unless the process hangs inside the system."""


class ProgramProcess(asyncio.SubprocessProtocol):
    """A running program. Made by `start`."""

    def __init__(self, max_output_bytes: int) -> None:
        loop = asyncio.get_running_loop()
        self._loop = loop
        self._most = max_output_bytes
        self._transport: asyncio.SubprocessTransport | None = None
        self.ended: asyncio.Future[int] = loop.create_future()
        """Its exit code, once it has ended and the system was told that we know."""
        self._changed: asyncio.Future[None] | None = None
        self._is_unwanted = False
        self.output = bytearray()
        """What it has written and nobody has taken."""
        self.stderr = b""
        """What it said last."""
        self._open = {1, 2}
        """Its output and its standard error, as long as something more can come of them."""
        self.is_too_long = False
        """It wrote more than may be; what came after is lost."""

    # what asyncio tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)
        if self._is_unwanted:
            self.end_now()

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        assert isinstance(data, bytes)
        if fd == 2:
            self.stderr = (self.stderr + data)[-STDERR_TAIL_BYTES:]
            return
        if self.is_too_long:
            return
        self.output += data
        self.is_too_long = len(self.output) > self._most
        self._tell()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002  # the base names it
        self._open.discard(fd)
        self._tell()

    def process_exited(self) -> None:
        assert self._transport is not None
        if not self.ended.done():
            self.ended.set_result(self._transport.get_returncode() or 0)
        self._tell()

    # what callers do

    @property
    def is_started(self) -> bool:
        return self._transport is not None

    @property
    def pid(self) -> int:
        assert self._transport is not None
        return self._transport.get_pid()

    @property
    def is_silent(self) -> bool:
        """Its output is closed: no answer can come any more."""
        return 1 not in self._open

    @property
    def exit_code(self) -> int | None:
        """Below 0 for a signal; None while it runs."""
        return self.ended.result() if self.ended.done() else None

    def send(self, data: bytes) -> None:
        """Hand over what it shall read; whatever the pipe does not take yet is written while it is read from."""
        assert self._transport is not None
        stdin = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))
        if not stdin.is_closing():
            stdin.write(data)

    def send_end(self) -> None:
        """Close its input, once everything is written."""
        assert self._transport is not None
        cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0)).close()

    async def changed(self) -> None:
        """Wait until it wrote, closed a pipe, or ended."""
        waiting = self._changed = self._loop.create_future()
        try:
            await waiting
        finally:
            self._changed = None

    async def heard(self) -> None:
        """Take in what it has written already: asyncio hands it over three turns of the event loop later."""
        for _ in range(3):
            await asyncio.sleep(0)

    async def finished(self) -> int:
        """Wait until it has ended and its output was read, or it wrote too much; returns its exit code."""
        while self.exit_code is None and not self.is_too_long:
            await self.changed()
        await self._drained()
        return self.exit_code or 0

    async def ending(self) -> int | None:
        """The exit code of a process that has closed its output, for which it has 1 s; None when it goes on."""
        await asyncio.wait({self.ended}, timeout=CLOSED_GRACE_S)
        await self._drained()
        return self.exit_code

    async def _drained(self) -> None:
        """Wait for what is still in the pipes of a process that has ended, also when what it left holds them open."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S):
                while self._open and self.exit_code is not None and not self.is_too_long:
                    await self.changed()

    async def leave(self) -> None:
        """Close its input, at which most end by themselves; end it when it has not after 1 s."""
        try:
            self.send_end()
            await asyncio.wait({self.ended}, timeout=LEAVE_GRACE_S)
        finally:
            await self.end()

    async def end(self) -> None:
        """End it and its whole group: asked first, made to after 0.3 s. Cancelled, it makes it at once."""
        try:
            if self.exit_code is None:
                self._signal(signal.SIGTERM)
                await asyncio.wait({self.ended}, timeout=TERM_GRACE_S)
            if self.exit_code is None:
                self._signal(signal.SIGKILL)
                await asyncio.wait({self.ended}, timeout=KILL_WAIT_S)
        finally:
            self.end_now()

    def end_now(self) -> None:
        """End what is left of its group, without waiting, and let go of its pipes."""
        self.end_group()
        if self._transport is not None:
            self._transport.close()

    def abandon(self) -> None:
        """End it, also when it is being started still."""
        self._is_unwanted = True
        if self._transport is not None:
            self.end_now()

    def end_group(self) -> None:
        """End what is left of its group; all that can be done from outside its event loop."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        """To the whole group, whose number no other process can have while any of it is left (POSIX, `kill`)."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def _tell(self) -> None:
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)


async def start(command: Sequence[str], *, cwd: Path, env: Mapping[str, str], max_output_bytes: int) -> ProgramProcess:
    """Start a program. Raises OSError when the system cannot."""
    process = ProgramProcess(max_output_bytes)
    starting = asyncio.ensure_future(_started(process, command, cwd, env))
    try:
        await asyncio.shield(starting)  # cancelled itself, asyncio would wait for all that holds the program's pipes
    except asyncio.CancelledError:
        process.abandon()
        starting.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.wait({starting}, timeout=KILL_WAIT_S)
        if process.is_started:
            await asyncio.wait({process.ended}, timeout=KILL_WAIT_S)
        raise
    return process


async def _started(process: ProgramProcess, command: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
    await asyncio.get_running_loop().subprocess_exec(
        lambda: process,
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=cwd,
        env=dict(env),
        start_new_session=True,  # a group of its own, and Ctrl-C in the terminal is ours to act on
    )
