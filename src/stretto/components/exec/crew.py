"""Processes that each answer one call after another; one that died, or lost step, is replaced."""

import asyncio
import logging
from typing import Final

from stretto.components.exec.calls import ask_process, launched
from stretto.components.exec.framing import Framing
from stretto.components.exec.process import ProgramProcess
from stretto.components.exec.reading import Reading
from stretto.components.exec.settings import ExecSettings
from stretto.types.json import JsonObject

_log: Final = logging.getLogger(__name__)

_UNASKED: Final = (
    "program '%s' wrote %d bytes that nobody asked for, and is replaced; answers before them may have been those of "
    "other calls: name a field by which they are told apart in `correlate`"
)


class Crew:
    """The idle processes of a persistent program. How many are at work at once, its callers bound."""

    def __init__(self, settings: ExecSettings, framing: Framing) -> None:
        self._settings = settings
        self._framing = framing
        self._idle: list[ProgramProcess] = []
        self._is_closed = False
        self._keeper = asyncio.create_task(self._keep(), name=f"program {settings.name}")

    async def begin(self) -> None:
        """Start every process, so that no call waits for that."""
        while len(self._idle) < self._settings.at_once:
            self._idle.append(await self._new())

    async def ask(self, data: bytes, reading: Reading) -> JsonObject:
        """One answer. A process that gave none, or none that can be read, or not in time, is ended: what it says next
        would belong to nobody."""
        process = await self._ready()
        try:
            said = await ask_process(self._settings, process, self._framing, data)
            answer = reading.of(said, process.stderr)
        except BaseException:
            await process.end()
            raise
        self._idle.append(process)
        if self._is_closed:  # while this one was asked
            await self.close()
        return answer

    async def close(self) -> None:
        """End all that are idle: their input is closed first, at which most end by themselves."""
        self._is_closed = True
        self._keeper.cancel()
        await self._end_idle()

    def drop(self) -> None:
        """End all without waiting, of an event loop that has ended."""
        for process in self._idle:
            process.end_group()
        self._idle = []

    async def _keep(self) -> None:
        """End all when the event loop ends and nobody has closed this: a loop that ends cancels its tasks."""
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self._is_closed = True
            await self._end_idle()

    async def _end_idle(self) -> None:
        idle, self._idle = self._idle, []
        await asyncio.gather(*(process.leave() for process in idle))

    async def _ready(self) -> ProgramProcess:
        """One that lives and has said nothing since it answered; a new one when there is none."""
        while self._idle:
            process = self._idle.pop()
            try:
                await process.heard()
            except BaseException:  # it is in no list any more
                process.end_now()
                raise
            if process.exit_code is None and not process.is_silent and not process.output:
                return process
            if process.output:
                _log.warning(_UNASKED, self._settings.name, len(process.output))
            await process.end()
        return await self._new()

    async def _new(self) -> ProgramProcess:
        return await launched(self._settings, self._settings.command, None)
