"""One probe at work: asked within a time, what it told last kept, and what of that is not of now."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, Final

from stretto.probes.probe import Probe, ProbeError
from stretto.spec.durations import render
from stretto.spec.resources_model import ProbeSpec
from stretto.types.json import Json, JsonObject
from stretto.types.resources import DEVICES, GPU_DEVICE, Measure

_log: Final = logging.getLogger(__name__)


class Source:
    """A probe with what it told last. For one event loop at a time."""

    def __init__(self, name: str, probe: Probe, spec: ProbeSpec) -> None:
        self.name = name
        """``host``, ``models.planner``."""
        self.probe = probe
        self.every_s = spec.every.total_seconds()
        self._timeout = spec.timeout
        """Of one reading."""
        self.measures = dict(probe.measures)
        self.values: JsonObject = dict.fromkeys(self.measures)
        """The last of each that made sense."""
        self.bad = frozenset(self.measures)
        """Names that the newest attempt did not give."""
        self.taken: float | None = None
        """When it last told anything that made sense, in event-loop time, seconds."""
        self._trouble = ""
        self._since = 0.0
        self._hanging: asyncio.Future[Any] | None = None
        self._turn = asyncio.Lock()

    def retune(self, spec: ProbeSpec) -> None:
        """Take another pace, and another time for each reading from the next on; from any thread."""
        self.every_s, self._timeout = spec.every.total_seconds(), spec.timeout

    async def ask(self, now: Callable[[], float], *, older_than_s: float = 0.0) -> None:
        """Read the probe, unless what it told is no older than that. It may hang, raise or tell nonsense."""
        async with self._turn:
            if self.taken is None or now() - self.taken >= older_than_s:
                told, why = await self._read()
                self._take(told, why, now())

    async def close(self) -> None:
        """Let the probe let go, within the time of a reading; one that cannot is told of and left behind.

        What it was asked for before in another event loop is forgotten.
        """
        self.taken, self.bad = None, frozenset(self.measures)
        _, why = await self._within(self.probe.close())
        if why:
            _log.warning("the probe '%s' does not let go of what it holds, and is left behind: %s", self.name, why)
        self._turn, self._hanging = asyncio.Lock(), None

    async def _read(self) -> tuple[object, str]:
        """What it tells, or why it does not."""
        if self._hanging is not None and not self._hanging.done():
            return None, "an earlier reading was cancelled and still hangs"
        return await self._within(self.probe.read())

    async def _within(self, asked: Coroutine[Any, Any, Any]) -> tuple[object, str]:
        """What a probe gives within its time, or why it does not."""
        reading = asyncio.ensure_future(asked)
        reading.add_done_callback(_forget)
        try:
            await asyncio.wait({reading}, timeout=self._timeout.total_seconds())
        finally:
            if not reading.done():  # cancelled, and left to itself: it may ignore that
                reading.cancel()
                self._hanging = reading
        if not reading.done():
            return None, f"it took longer than {render(self._timeout)}"
        if reading.cancelled():
            return None, "it cancelled itself"
        error = reading.exception()
        if error is not None:
            return None, str(error) if isinstance(error, ProbeError) else f"{type(error).__name__}: {error}"
        return reading.result(), ""

    def _take(self, told: object, why: str, now: float) -> None:
        if isinstance(told, Mapping):
            nonsense = {name: _nonsense(name, measure, told.get(name)) for name, measure in self.measures.items()}
            good = {
                name: _exact(measure, told.get(name)) for name, measure in self.measures.items() if not nonsense[name]
            }
            self.values = {**self.values, **good}
            self.bad = frozenset(self.measures) - good.keys()
            if good:
                self.taken = now
            why = "; ".join(f"{name}: {reason}" for name, reason in nonsense.items() if reason)
        else:
            self.bad = frozenset(self.measures)
            why = why or f"it told {told!r:.40}, and no values by name"
        self._tell(why, now)

    def _tell(self, why: str, now: float) -> None:
        """Say once that it began to fail, and once that it ended."""
        was, self._trouble = self._trouble, why
        if why and not was:
            self._since = now
            _log.warning("the probe '%s' fails, so its last values stay and are marked stale: %s", self.name, why)
        elif was and not why:
            _log.warning("the probe '%s' tells again, after %.3g s", self.name, now - self._since)


def _nonsense(name: str, measure: Measure | None, value: Json) -> str:
    """Why a value cannot be; empty when it can."""
    if measure is not None:
        return measure.nonsense(value)
    if name != DEVICES or value is None:
        return ""
    devices: Any = value
    told = (device.nonsense(each.get(device.name)) for each in devices for device in GPU_DEVICE)
    return next(filter(None, told), "")


def _exact(measure: Measure | None, value: Any) -> Json:  # Any: a number of any kind, which `_nonsense` has seen
    """An integer where the measure counts, else a double."""
    if measure is None or value is None:
        return value  # type: ignore[no-any-return]  # JSON, as the probe built it
    return int(value) if measure.is_whole else round(float(value), 6)


def _forget(reading: "asyncio.Future[Any]") -> None:
    """Whoever asked may be gone: then nobody asks what became of it."""
    with suppress(asyncio.CancelledError):
        reading.exception()
