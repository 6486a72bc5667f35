"""Memory, load and temperature of NVIDIA devices, through NVML.

Without a driver there are no devices, which is no error: the values are null. A figure that one device does not give
(utilisation of a MIG instance, say) is null for that device, and left out of the figures over all.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from stretto.probes.beside import Beside
from stretto.probes.probe import Reading, by_name
from stretto.types.errors import MissingExtraError
from stretto.types.json import Json, JsonObject
from stretto.types.resources import DEVICES, GPU, Measure

_log: Final = logging.getLogger(__name__)

_NO_DRIVER: Final = ("NVMLError_LibraryNotFound", "NVMLError_DriverNotLoaded", "NVMLError_LibRmVersionMismatch")
"""What `nvmlInit` raises where there is no driver, or none that fits."""

_NOT_GIVEN: Final = ("NVMLError_NotSupported", "NVMLError_NoPermission")
"""What a figure raises that this device, or this user, does not get."""


class GpuProbe:
    """Reads in a thread: a driver may take seconds. Raises MissingExtraError without nvidia-ml-py."""

    def __init__(self, nvml: Any = None) -> None:  # Any: pynvml is a module without types
        """`nvml` is the module to ask; None imports pynvml at the first reading."""
        if nvml is None and find_spec("pynvml") is None:
            raise MissingExtraError("the probe 'gpu'", "probes")
        self._nvml = nvml
        self._beside = Beside("gpu")
        self._is_up = False
        self._has_told = False

    @property
    def measures(self) -> Mapping[str, Measure | None]:
        return {**by_name(GPU), DEVICES: None}

    async def read(self) -> Reading:
        return await self._beside.do(self._read)

    async def close(self) -> None:
        """Let NVML go; in a thread too, since it may wait for the driver."""
        if self._is_up:
            self._is_up = False
            await self._beside.do(self._nvml.nvmlShutdown)

    def _read(self) -> Reading:
        if self._nvml is None:
            self._nvml = import_module("pynvml")
        if not self._is_up and not self._begin():
            return {"gpu_count": 0, DEVICES: []}
        try:
            return _over_all([_device(self._nvml, index) for index in range(self._nvml.nvmlDeviceGetCount())])
        except self._nvml.NVMLError:
            self._is_up = False  # a driver that was restarted is found again by the next reading only so
            raise

    def _begin(self) -> bool:
        """Whether there is a driver; that there is none is told once."""
        nvml = self._nvml
        try:
            nvml.nvmlInit()
        except _errors(nvml, _NO_DRIVER) as error:
            if not self._has_told:
                self._has_told = True
                _log.info("there is no NVIDIA driver here, so every `resources.gpu_*` is null: %s", error)
            return False
        self._is_up = True
        return True


def _device(nvml: Any, index: int) -> JsonObject:  # Any: as above
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    memory = _given(nvml, lambda: nvml.nvmlDeviceGetMemoryInfo(handle))
    load = _given(nvml, lambda: nvml.nvmlDeviceGetUtilizationRates(handle))
    name = nvml.nvmlDeviceGetName(handle)
    return {
        "index": index,
        "name": name.decode() if isinstance(name, bytes) else str(name),
        "free_bytes": None if memory is None else int(memory.free),
        "total_bytes": None if memory is None else int(memory.total),
        "utilization_percent": None if load is None else float(load.gpu),
        "temperature_celsius": _given(
            nvml, lambda: float(nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU))
        ),
    }


def _over_all(devices: list[JsonObject]) -> Reading:
    def figure(name: str, choose: Callable[[Iterable[Any]], Any]) -> Json:
        found = [each[name] for each in devices if each[name] is not None]
        chosen: Json = choose(found) if found else None
        return chosen

    return {
        "gpu_count": len(devices),
        "gpu_free_bytes": figure("free_bytes", min),
        "gpu_most_free_bytes": figure("free_bytes", max),
        "gpu_utilization_percent": figure("utilization_percent", max),
        "gpu_temperature_celsius": figure("temperature_celsius", max),
        DEVICES: [*devices],
    }


def _given(nvml: Any, read: Callable[[], Any]) -> Any:
    try:
        return read()
    except _errors(nvml, _NOT_GIVEN):
        return None


def _errors(nvml: Any, names: tuple[str, ...]) -> tuple[type[Exception], ...]:  # Any: as above
    """The classes that NVML makes for its codes, of which older ones lack some."""
    return tuple(found for name in names if (found := getattr(nvml, name, None)) is not None)
