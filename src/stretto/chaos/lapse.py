"""Injected waits take no time: where a trial has nothing to do but wait for them, the event loop's clock jumps ahead.

The clock is real otherwise, so components that run elsewhere, a tool server perhaps, are waited for as long as they
take. Everything in the process sees the same clock: time-outs, deadlines, breakers and the runs' own times.
"""

import asyncio
import selectors
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

_INSIDE: Final[ContextVar[tuple[object, ...]]] = ContextVar("stretto_chaos_inside", default=())
"""Components at work around what is done here: one that called another waits when that does."""


class Lapse:
    """Who is waiting for what in a trial."""

    def __init__(self) -> None:
        self._under_way: set[int] = set()
        self._waiting: Counter[int] = Counter()
        self._working: set[object] = set()
        self._waiting_inside: Counter[object] = Counter()

    @contextmanager
    def run(self, index: int) -> Iterator[None]:
        """A run is under way meanwhile."""
        self._under_way.add(index)
        try:
            yield
        finally:
            self._under_way.discard(index)

    @contextmanager
    def waiting(self, index: int) -> Iterator[None]:
        """A call of a run sits out an injected wait meanwhile."""
        around = _INSIDE.get()
        self._waiting[index] += 1
        self._waiting_inside.update(around)
        try:
            yield
        finally:
            _take(self._waiting, (index,))
            _take(self._waiting_inside, around)

    @contextmanager
    def working(self) -> Iterator[None]:
        """A real component is at work meanwhile."""
        around, work = _INSIDE.get(), object()
        self._working.add(work)
        _INSIDE.set((*around, work))
        try:
            yield
        finally:
            _INSIDE.set(around)
            self._working.discard(work)

    @property
    def may_jump(self) -> bool:
        """Whether every run under way sits out an injected wait, and no component works."""
        return (
            bool(self._under_way)
            and self._under_way <= self._waiting.keys()
            and self._working <= self._waiting_inside.keys()
        )


def _take(counts: Counter[Any], names: Iterable[object]) -> None:  # Any: counters of either kind
    for name in names:
        counts[name] -= 1
        if not counts[name]:
            del counts[name]


class _LapsingSelector(selectors.DefaultSelector):
    def __init__(self) -> None:
        super().__init__()
        self.lapse: Lapse | None = None
        self.skipped_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout and timeout > 0 and self.lapse is not None and self.lapse.may_jump:
            ready = super().select(0)
            self.skipped_s += 0.0 if ready else timeout
            return ready
        return super().select(timeout)


class LapsingLoop(asyncio.SelectorEventLoop):
    """An event loop on a real clock that jumps over injected waits; `lapse` says when it may."""

    def __init__(self) -> None:
        self._lapsing = _LapsingSelector()
        super().__init__(self._lapsing)

    def time(self) -> float:
        return time.monotonic() + self._lapsing.skipped_s

    def jump_with(self, lapse: Lapse | None) -> None:
        """Follow a trial's waits from now on; None follows none."""
        self._lapsing.lapse = lapse


@contextmanager
def jumping(lapse: Lapse) -> Iterator[None]:
    """Let the running loop jump over a trial's injected waits meanwhile, where it is one that can."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, LapsingLoop):
        yield
        return
    loop.jump_with(lapse)
    try:
        yield
    finally:
        loop.jump_with(None)
