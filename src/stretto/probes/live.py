"""`resources.*` as it stands: probes are asked in the background, and a reader only merges two mappings."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

import msgspec

from stretto.probes.source import Source
from stretto.spec.resources_model import ResourcesSpec
from stretto.types.json import Json, JsonObject
from stretto.types.resources import AGE, MODELS, SERVERS, STALE

_ROLLED_UP: Final = {"gpu_queue_length": "queue_length", "gpu_running": "running",
                     "gpu_cache_used_percent": "cache_used_percent"}  # fmt: skip
"""Of all servers together ← of each."""


class _Mark(msgspec.Struct, frozen=True):
    """How old a source's values are."""

    place: tuple[str, ...]
    """In `age_ms`."""
    names: tuple[str, ...]
    """As `stale` has them."""
    bad: frozenset[str]
    taken: float | None


class _Standing(msgspec.Struct, frozen=True):
    """All values at one time. Replaced as a whole, never changed: whoever reads it sees one moment."""

    values: JsonObject
    marks: tuple[_Mark, ...]


class LiveResources:
    """Asks the probes while it is open, each at its own pace, and answers at once with what they told last.

    It opens like a component, once for each event loop. Opening waits for the first readings, no longer than their
    time-outs: a run that begins with values decides better than one that begins at once.
    """

    def __init__(
        self, sources: Sequence[Source], stale_after: timedelta, assume: Mapping[str, Json] | None = None
    ) -> None:
        """`assume` is what a name reads while no probe has told it."""
        self.sources = tuple(sources)
        self._assume = dict(assume or {})
        self._stale_after_s = stale_after.total_seconds()
        self._now: Callable[[], float] = _never
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: set[asyncio.Future[None]] = set()
        """For the next reading, one for each probe."""
        self._keepers: list[asyncio.Task[None]] = []
        self._standing = _standing_of(self.sources, self._assume)

    def read(self, given: JsonObject) -> JsonObject:
        """The values, what the caller gave over those of probes; ages and what is stale are those of this moment."""
        now, limit = self._now(), self._stale_after_s
        stale: list[Json] = []
        ages: JsonObject = {}
        standing = self._standing
        for mark in standing.marks:
            age_s = None if mark.taken is None else now - mark.taken
            _put(ages, mark.place, None if age_s is None else round(age_s * 1e3, 3))
            if age_s is None or age_s > limit:
                stale += mark.names
            elif mark.bad:
                stale += [name for name in mark.names if name in mark.bad]
        if stale:
            stale = _without_given(stale, given)
        return {**standing.values, STALE: stale, AGE: ages, **given}

    async def open(self) -> None:
        """Read every probe once, and go on in the background."""
        self._loop = asyncio.get_running_loop()
        self._now = self._loop.time
        self._waiting = set()
        await asyncio.gather(*(source.ask(self._now) for source in self.sources))
        self._standing = _standing_of(self.sources, self._assume)
        self._keepers = [
            asyncio.create_task(self._keep(source), name=f"stretto probe {source.name}") for source in self.sources
        ]

    async def close(self) -> None:
        """Ask no more; what was told stays to be read, as stale."""
        keepers, self._keepers = self._keepers, []
        loop = asyncio.get_running_loop()
        here = [keeper for keeper in keepers if keeper.get_loop() is loop]  # others ended with their event loop
        for keeper in here:
            keeper.cancel()
        await asyncio.gather(*here, return_exceptions=True)
        await asyncio.gather(*(source.close() for source in self.sources))
        self._standing = _standing_of(self.sources, self._assume)

    def retune(self, spec: ResourcesSpec) -> None:
        """Go by other figures: how often each probe reads and how long that may take from its next reading on, which
        comes as soon as it is due by them; what is stale at once. From any thread."""
        self._stale_after_s = spec.stale_after.total_seconds()
        probes = dict(spec.probes())
        for source in self.sources:
            source.retune(probes[source.name])
        if self._loop is not None:
            with suppress(RuntimeError):  # it ended, and nobody reads in it
                self._loop.call_soon_threadsafe(self._look_again)

    def _look_again(self) -> None:
        """Let those that wait for their next reading see when it is due now."""
        for waiting in self._waiting:
            _wake(waiting)

    async def catch_up(self) -> None:
        """Read what is overdue, as after a time in which the event loop stood still."""
        await asyncio.gather(*(source.ask(self._now, older_than_s=source.every_s) for source in self.sources))
        self._standing = _standing_of(self.sources, self._assume)

    async def _keep(self, source: Source) -> None:
        while True:
            await self._until_due(source, self._now())
            await source.ask(self._now)
            self._standing = _standing_of(self.sources, self._assume)

    async def _until_due(self, source: Source, since: float) -> None:
        """Wait for a probe's next reading, whose time may come nearer or move away meanwhile."""
        while (left_s := since + source.every_s - self._now()) > 0:
            loop = asyncio.get_running_loop()
            waiting = loop.create_future()
            self._waiting.add(waiting)
            timer = loop.call_later(left_s, _wake, waiting)
            try:
                await waiting
            finally:
                timer.cancel()
                self._waiting.discard(waiting)


def _wake(waiting: "asyncio.Future[None]") -> None:
    if not waiting.done():
        waiting.set_result(None)


def _standing_of(sources: Sequence[Source], assume: Mapping[str, Json]) -> _Standing:
    values: JsonObject = {}
    servers: dict[str, Source] = {}
    marks = []
    for source in sources:
        first, _, rest = source.name.partition(".")
        if rest:
            servers[rest] = source
        else:
            values |= source.values
        prefix = f"{source.name}." if rest else ""
        names = tuple(prefix + name for name in source.measures)
        marks.append(
            _Mark((first, rest) if rest else (first,), names, frozenset(prefix + n for n in source.bad), source.taken)
        )
    if servers:
        values[MODELS] = {name: source.values for name, source in servers.items()}
        values |= {each.name: _together(each.name, servers) for each in SERVERS}
        marks += [_mark_together(server) for server in servers.values()]
    values |= {name: value for name, value in assume.items() if values.get(name) is None}
    return _Standing(values, tuple(marks))


def _together(name: str, servers: Mapping[str, Source]) -> Json:
    """One figure of all servers: the fullest cache, and of what is counted the sum."""
    told: list[Any] = [value for each in servers.values() if (value := each.values[_ROLLED_UP[name]]) is not None]
    if not told:
        return None
    figure: Json = max(told) if name == "gpu_cache_used_percent" else sum(told)
    return figure


def _mark_together(server: Source) -> _Mark:
    """What is told of all servers is stale with any of them."""
    bad = frozenset(name for name, each in _ROLLED_UP.items() if each in server.bad)
    return _Mark((MODELS, server.name.partition(".")[2]), tuple(_ROLLED_UP), bad, server.taken)


def _put(ages: JsonObject, place: tuple[str, ...], age_ms: float | None) -> None:
    if len(place) == 1:
        ages[place[0]] = age_ms
        return
    inner = ages.setdefault(place[0], {})
    if isinstance(inner, dict):
        inner[place[1]] = age_ms


def _without_given(stale: list[Json], given: JsonObject) -> list[Json]:
    """Each name once, and none that the caller gave."""
    return [name for name in dict.fromkeys(stale) if str(name).partition(".")[0] not in given]


def _never() -> float:
    return 0.0
