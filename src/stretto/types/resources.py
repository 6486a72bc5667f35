"""What probes can tell at `resources.*`: the names, and which values of each make sense.

The compiler types `resources` by these tables, probes fill them, and `docs/reference/workflow-file.md` lists them.
"""

import re
from enum import StrEnum
from math import isfinite
from typing import Final

import msgspec

from stretto.types.arguments import INT64_MAX


class Unit(StrEnum):
    """What a value counts."""

    COUNT = "count"
    BYTES = "bytes"
    PERCENT = "percent"
    CELSIUS = "celsius"
    MILLISECONDS = "ms"
    NUMBER = "number"
    """No unit."""


class Measure(msgspec.Struct, frozen=True):
    """One value that a probe gives: null before the first reading, and where the machine has no such thing."""

    name: str
    unit: Unit
    means: str

    @property
    def is_whole(self) -> bool:
        """Whether it is an integer."""
        return self.unit in (Unit.COUNT, Unit.BYTES)

    @property
    def range(self) -> str:
        """What makes sense, in words."""
        what = "a whole number" if self.is_whole else "a number"
        return f"{what} from 0 to 100" if self.unit is Unit.PERCENT else f"{what}, 0 or more"

    def nonsense(self, value: object) -> str:
        """Why a value cannot be this measure, in words; empty when it can, and for None."""
        if value is None:
            return ""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"{value!r:.40} is no number"
        if isinstance(value, float) and not isfinite(value):
            return f"{value} is not finite"
        if value > INT64_MAX:
            return f"{value:.3g} is too large" if isinstance(value, float) else "it is too large"
        if value < 0:
            return f"{value} is below 0"
        if self.unit is Unit.PERCENT and value > 100:
            return f"{value} is above 100"
        return "" if not self.is_whole or value == int(value) else f"{value} is no whole number"


HOST: Final = (
    Measure("cpu_load_percent", Unit.PERCENT, "how busy the processors were since the last reading, all together"),
    Measure("load_average", Unit.NUMBER, "processes that run or want to, over the last minute"),
    Measure("memory_free_bytes", Unit.BYTES, "memory that can be had without swapping"),
    Measure("memory_used_percent", Unit.PERCENT, "the part of the memory that cannot"),
)
"""Of the machine."""

GPU: Final = (
    Measure("gpu_count", Unit.COUNT, "devices that the driver shows"),
    Measure("gpu_free_bytes", Unit.BYTES, "free memory of the device that has least"),
    Measure("gpu_most_free_bytes", Unit.BYTES, "free memory of the device that has most"),
    Measure("gpu_utilization_percent", Unit.PERCENT, "how busy the busiest device is"),
    Measure("gpu_temperature_celsius", Unit.CELSIUS, "temperature of the hottest device"),
)
"""Of all devices together."""

GPU_DEVICE: Final = (
    Measure("free_bytes", Unit.BYTES, "free memory"),
    Measure("total_bytes", Unit.BYTES, "memory"),
    Measure("utilization_percent", Unit.PERCENT, "part of the time in which a kernel ran"),
    Measure("temperature_celsius", Unit.CELSIUS, "temperature"),
)
"""Of each device, in the list `gpus`, beside its `index` and `name`."""

DEVICES: Final = "gpus"

THREADS: Final = (
    Measure("threads_busy", Unit.COUNT, "threads at work for plain functions"),
    Measure("threads_queue_length", Unit.COUNT, "calls of plain functions that wait for a thread"),
)
"""Of the pool that components which are plain functions run in."""

SERVER: Final = (
    Measure("queue_length", Unit.COUNT, "requests that wait in the server"),
    Measure("running", Unit.COUNT, "requests that it works on"),
    Measure("cache_used_percent", Unit.PERCENT, "the part of its KV cache that is taken"),
)
"""Of each model server, at `resources.models.NAME.*`."""

SERVERS: Final = (
    Measure("gpu_queue_length", Unit.COUNT, "requests that wait in the model servers, all together"),
    Measure("gpu_running", Unit.COUNT, "requests that the model servers work on, all together"),
    Measure("gpu_cache_used_percent", Unit.PERCENT, "the part of the KV cache that is taken, in the fullest server"),
)
"""Of all model servers together."""

MODELS: Final = "models"

COMPONENT: Final = (
    Measure("queue_length", Unit.COUNT, "calls that wait for the component's bulkhead"),
    Measure("in_flight", Unit.COUNT, "calls that it is at work on"),
    Measure("latency_ms", Unit.MILLISECONDS, "median time of the last minute's answers; null without any"),
)
"""Of each component, as `NAME_queue_length` and so on."""

STALE: Final = "stale"
"""The names whose values are not of now: the probe failed, hangs, or was not asked in time."""

AGE: Final = "age_ms"
"""Milliseconds since each probe's values were read, by probe; null before the first reading."""


SEEN: Final = "resources"
"""Evidence of a step: what it read of `resources`, with the values seen."""

SEEN_BY_ROUND: Final = "resources_by_round"
"""Evidence of a loop: the same for its `until`, after each round; null where that was not asked again."""


def component_value(component: str, measure: str) -> str:
    """Name of a component's value: ``llm-planner`` has ``llm_planner_latency_ms``, which an expression can read."""
    return f"{re.sub(r'[^A-Za-z0-9_]', '_', component)}_{measure}"


def measure_of(name: str) -> Measure | None:
    """The single figure that a probe gives at `resources.NAME`; None for what is no figure, or no probe's."""
    for measure in (*HOST, *GPU, *THREADS, *SERVERS):
        if measure.name == name:
            return measure
    return next((each for each in COMPONENT if name.endswith(f"_{each.name}")), None)
