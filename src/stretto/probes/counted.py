"""What the process itself knows: its components' calls, and the threads that they run in.

Both are only asked; who counts, counts anyway. `runtime` says whom to ask, since probes know neither.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, TypeAlias

from stretto.probes.probe import Reading, by_name
from stretto.types.json import Json
from stretto.types.resources import COMPONENT, THREADS, Measure, component_value


class Load(Protocol):
    """One component's calls."""

    @property
    def waiting(self) -> int: ...

    @property
    def in_flight(self) -> int: ...

    @property
    def latency_ms(self) -> float | None: ...


Loads: TypeAlias = Callable[[], Mapping[str, Load]]
"""By component."""


class ComponentsProbe:
    """Queue, calls in flight and latency of each component."""

    def __init__(self, components: Iterable[str], loads: Loads) -> None:
        self._components = tuple(components)
        self._loads = loads

    @property
    def measures(self) -> Mapping[str, Measure | None]:
        return {component_value(name, each.name): each for name in self._components for each in COMPONENT}

    async def read(self) -> Reading:
        loads = self._loads()
        found: dict[str, Json] = {}
        for name in self._components:
            load = loads.get(name)  # none before the first run
            found[component_value(name, "queue_length")] = 0 if load is None else load.waiting
            found[component_value(name, "in_flight")] = 0 if load is None else load.in_flight
            found[component_value(name, "latency_ms")] = None if load is None else load.latency_ms
        return found

    async def close(self) -> None:
        """Nothing is held."""


class ThreadsProbe:
    """How full the pool is in which components run that are plain functions."""

    def __init__(self, busy_and_queued: Callable[[], tuple[int, int]]) -> None:
        self._ask = busy_and_queued

    @property
    def measures(self) -> Mapping[str, Measure | None]:
        return by_name(THREADS)

    async def read(self) -> Reading:
        busy, queued = self._ask()
        return {"threads_busy": busy, "threads_queue_length": queued}

    async def close(self) -> None:
        """Nothing is held."""
