"""A probe that does as it is told."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any

from stretto.probes.live import LiveResources
from stretto.probes.probe import Reading
from stretto.probes.source import Source
from stretto.spec.resources_model import ProbeSpec
from stretto.types.resources import GPU, HOST, SERVER, Measure

BY_NAME = {each.name: each for each in (*HOST, *GPU, *SERVER)}

SECOND = timedelta(seconds=1)


class Scripted:
    """Answers what `say` gives; counts how often it was asked and closed."""

    def __init__(self, *names: str, say: Callable[[], Any]) -> None:
        self._names = names
        self.say = say
        self.asked = self.closed = 0

    @property
    def measures(self) -> Mapping[str, Measure | None]:
        return {name: BY_NAME[name] for name in self._names}

    async def read(self) -> Reading:
        self.asked += 1
        said = self.say()
        told: Reading = await said if isinstance(said, Awaitable) else said
        return told

    async def close(self) -> None:
        self.closed += 1


def source(
    probe: Scripted, name: str = "host", *, every: timedelta = SECOND, timeout: timedelta = SECOND / 2
) -> Source:
    return Source(name, probe, ProbeSpec(every=every, timeout=timeout))


def live(*sources: Source, stale_after: timedelta = 5 * SECOND, **assume: float) -> LiveResources:
    return LiveResources(sources, stale_after, assume)


async def for_ever() -> Any:
    await asyncio.Event().wait()


async def deaf() -> Any:
    """Hangs, and goes on when it is cancelled; only the end of the event loop ends it."""
    with suppress(asyncio.CancelledError):
        await asyncio.Event().wait()
    await asyncio.Event().wait()
