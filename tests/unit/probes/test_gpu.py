"""Devices as NVML shows them: none where there is no driver, and each figure only where the device gives it."""

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from stretto.probes.gpu import GpuProbe
from stretto.types.errors import MissingExtraError

GIB = 1024**3


class NVMLError(Exception):
    """Root of NVML's errors; pynvml makes a class of each code."""


class NVMLError_LibraryNotFound(NVMLError):
    pass


class NVMLError_NotSupported(NVMLError):
    pass


class NVMLError_GpuIsLost(NVMLError):
    pass


class Nvml:
    """NVML over devices of the test: two H100 with 80 GiB, say, or a MIG instance that gives no utilisation."""

    NVMLError = NVMLError
    NVMLError_LibraryNotFound = NVMLError_LibraryNotFound
    NVMLError_NotSupported = NVMLError_NotSupported
    NVML_TEMPERATURE_GPU = 0

    def __init__(self, *devices: dict[str, Any], driver: bool = True) -> None:
        self.devices = devices
        self.driver = driver
        self.inits = self.shutdowns = 0
        self.error: Exception | None = None

    def nvmlInit(self) -> None:
        self.inits += 1
        if not self.driver:
            raise NVMLError_LibraryNotFound("NVML Shared Library Not Found")

    def nvmlShutdown(self) -> None:
        self.shutdowns += 1

    def nvmlDeviceGetCount(self) -> int:
        if self.error is not None:
            raise self.error
        return len(self.devices)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> dict[str, Any]:
        return self.devices[index]

    def nvmlDeviceGetName(self, handle: dict[str, Any]) -> Any:
        return handle["name"]

    def nvmlDeviceGetMemoryInfo(self, handle: dict[str, Any]) -> Any:
        return SimpleNamespace(free=handle["free"], total=handle["total"], used=handle["total"] - handle["free"])

    def nvmlDeviceGetUtilizationRates(self, handle: dict[str, Any]) -> Any:
        if "gpu" not in handle:
            raise NVMLError_NotSupported("Not Supported")
        return SimpleNamespace(gpu=handle["gpu"], memory=3)

    def nvmlDeviceGetTemperature(self, handle: dict[str, Any], sensor: int) -> int:
        assert sensor == self.NVML_TEMPERATURE_GPU
        if "celsius" not in handle:
            raise NVMLError_NotSupported("Not Supported")
        celsius: int = handle["celsius"]
        return celsius


BUSY = {"name": "NVIDIA H100 80GB HBM3", "free": 4 * GIB, "total": 80 * GIB, "gpu": 97, "celsius": 71}
IDLE = {"name": b"NVIDIA H100 80GB HBM3", "free": 79 * GIB, "total": 80 * GIB, "gpu": 0, "celsius": 34}
MIG = {"name": "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "free": 9 * GIB, "total": 10 * GIB}


async def test_each_device_and_all_together() -> None:
    told = await GpuProbe(Nvml(BUSY, IDLE)).read()
    assert told == {
        "gpu_count": 2,
        "gpu_free_bytes": 4 * GIB,
        "gpu_most_free_bytes": 79 * GIB,
        "gpu_utilization_percent": 97.0,
        "gpu_temperature_celsius": 71.0,
        "gpus": [
            {"index": 0, "name": "NVIDIA H100 80GB HBM3", "free_bytes": 4 * GIB, "total_bytes": 80 * GIB,
             "utilization_percent": 97.0, "temperature_celsius": 71.0},
            {"index": 1, "name": "NVIDIA H100 80GB HBM3", "free_bytes": 79 * GIB, "total_bytes": 80 * GIB,
             "utilization_percent": 0.0, "temperature_celsius": 34.0},
        ],
    }  # fmt: skip


async def test_what_a_device_does_not_give_is_null() -> None:
    told: Any = await GpuProbe(Nvml(MIG)).read()
    assert (told["gpu_free_bytes"], told["gpu_utilization_percent"], told["gpu_temperature_celsius"]) == (
        9 * GIB,
        None,
        None,
    )
    assert told["gpus"][0]["utilization_percent"] is None


async def test_without_a_driver_there_are_no_devices_and_that_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "stretto")
    probe = GpuProbe(Nvml(driver=False))
    assert [await probe.read() for _ in range(3)] == [{"gpu_count": 0, "gpus": []}] * 3
    assert [record.message for record in caplog.records] == [
        "there is no NVIDIA driver here, so every `resources.gpu_*` is null: NVML Shared Library Not Found"
    ]
    await probe.close()


async def test_a_driver_that_was_restarted_is_found_again() -> None:
    nvml = Nvml(IDLE)
    probe = GpuProbe(nvml)
    await probe.read()
    nvml.error = NVMLError_GpuIsLost("GPU is lost")
    with pytest.raises(NVMLError_GpuIsLost):
        await probe.read()
    nvml.error = None
    assert (await probe.read())["gpu_count"] == 1
    assert nvml.inits == 2
    await probe.close()
    assert nvml.shutdowns == 1


async def test_the_real_library_answers_on_a_machine_with_or_without_devices() -> None:
    pytest.importorskip("pynvml")
    probe = GpuProbe()
    told = await probe.read()
    assert isinstance(told["gpu_count"], int)
    assert isinstance(told["gpus"], list)
    await probe.close()


def test_without_the_package_it_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stretto.probes.gpu.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"\[probes\]"):
        GpuProbe()
