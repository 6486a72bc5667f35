"""The runs that are open, the one that was used longest ago first: silence ends them in that order."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator

from stretto.serve.gateway.open_run import OpenRun
from stretto.types.ids import RunId

_LEAST_S = 0.01
"""Between two looks."""


class OpenRuns:
    """Open runs by key. Used from one event loop."""

    def __init__(self, idle_s: float, when_idle: Callable[[OpenRun], None], told: Callable[[int], None]) -> None:
        """`when_idle` is called with each run that had no call for so long; `told` with their count when it changes."""
        self._runs: OrderedDict[str, OpenRun] = OrderedDict()
        self._keys: dict[RunId, str] = {}
        self._idle_s = idle_s
        self._when_idle = when_idle
        self._told = told
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[OpenRun]:
        return iter(list(self._runs.values()))

    def get(self, key: str) -> OpenRun | None:
        return self._runs.get(key)

    def key_of(self, run_id: RunId) -> str | None:
        """The key of an open run."""
        return self._keys.get(run_id)

    def add(self, run: OpenRun) -> None:
        self._runs[run.key] = run
        self._keys[run.run.id] = run.key
        self._told(len(self._runs))
        self._plan()

    def drop(self, run: OpenRun) -> None:
        """It is open no more; dropping it twice is no harm."""
        if self._runs.get(run.key) is run:
            del self._runs[run.key]
            del self._keys[run.run.id]
            self._told(len(self._runs))

    def used(self, run: OpenRun) -> None:
        """Begin its silence anew."""
        run.used_at = asyncio.get_running_loop().time()
        if self._runs.get(run.key) is run:
            self._runs.move_to_end(run.key)

    def until_idle_s(self) -> float:
        """Seconds until the next of them may be idle."""
        first = next(iter(self._runs.values()), None)
        if first is None:
            return self._idle_s
        return max(0.0, first.used_at + self._idle_s - asyncio.get_running_loop().time())

    def stop(self) -> None:
        """Look for idle ones no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _plan(self) -> None:
        if self._timer is None and self._runs:
            self._timer = asyncio.get_running_loop().call_later(max(self.until_idle_s(), _LEAST_S), self._look)

    def _look(self) -> None:
        """Tell those that are idle; a run with a call under way is not."""
        self._timer = None
        now = asyncio.get_running_loop().time()
        for run in self:
            if run.underway or run.ending:
                self.used(run)
            elif run.used_at + self._idle_s > now:
                break
            else:
                self._when_idle(run)
        self._plan()
