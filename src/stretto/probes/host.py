"""Load and memory of the machine, from the operating system through psutil."""

from collections.abc import Mapping
from importlib.util import find_spec

from stretto.probes.beside import Beside
from stretto.probes.probe import Reading, by_name
from stretto.types.errors import MissingExtraError
from stretto.types.resources import HOST, Measure


class HostProbe:
    """Reads in a thread: where /proc is slow, as in some containers, the event loop goes on.

    Raises MissingExtraError without psutil.
    """

    def __init__(self) -> None:
        if find_spec("psutil") is None:
            raise MissingExtraError("the probe 'host'", "probes")
        self._beside = Beside("host")
        self._has_begun = False

    @property
    def measures(self) -> Mapping[str, Measure | None]:
        return by_name(HOST)

    async def read(self) -> Reading:
        return await self._beside.do(self._read)

    async def close(self) -> None:
        """Nothing is held."""

    def _read(self) -> Reading:
        import psutil

        busy = psutil.cpu_percent(interval=None if self._has_begun else _FIRST_INTERVAL_S)
        self._has_begun = True
        memory = psutil.virtual_memory()
        return {
            "cpu_load_percent": min(100.0, float(busy)),
            "load_average": round(psutil.getloadavg()[0], 3),
            "memory_free_bytes": int(memory.available),
            "memory_used_percent": float(memory.percent),
        }


_FIRST_INTERVAL_S = 0.1
"""Seconds: load is a difference between two readings, and before the first there is none."""
