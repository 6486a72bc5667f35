"""The part of a workflow file that says which probes fill `resources.*`, as read."""

from collections.abc import Iterator
from datetime import timedelta
from enum import StrEnum
from typing import Final

import msgspec

from stretto.spec.source import Located, Span

DEFAULT_STALE_AFTER: Final = timedelta(seconds=5)
"""Five readings in a row that did not come."""


class ServerKind(StrEnum):
    """A model server whose metrics are known."""

    VLLM = "vllm"
    SGLANG = "sglang"


class ProbeSpec(msgspec.Struct, frozen=True, kw_only=True):
    """How often a probe reads, and how long that may take."""

    every: timedelta = timedelta(seconds=1)
    """Default 1 s: a queue that matters does not grow and vanish within it, and a reading costs a millisecond."""
    timeout: timedelta = timedelta(milliseconds=500)
    """Default 500 ms: within `every`, and long for a server in the same building."""


class ServerSpec(ProbeSpec, frozen=True, kw_only=True):
    """A model server's Prometheus endpoint."""

    url: str
    engine: ServerKind | None = None
    """None takes the metrics of whichever answers."""


class ResourcesSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Which probes there are: None where one was not asked for."""

    span: Span
    host: ProbeSpec | None = None
    gpu: ProbeSpec | None = None
    components: ProbeSpec | None = None
    threads: ProbeSpec | None = None
    models: tuple[tuple[str, ServerSpec], ...] = ()
    """By name."""
    given: tuple[Located[str], ...] = ()
    """Names that whoever runs the workflow gives."""
    assume: tuple[tuple[Located[str], float], ...] = ()
    """What a name reads while no probe has told it; null where nothing is said."""
    stale_after: timedelta = DEFAULT_STALE_AFTER

    def probes(self) -> Iterator[tuple[str, ProbeSpec]]:
        """Each probe under its name: ``host``, ``models.planner``."""
        named = (("host", self.host), ("gpu", self.gpu), ("components", self.components), ("threads", self.threads))
        yield from ((name, spec) for name, spec in named if spec is not None)
        yield from ((f"models.{name}", spec) for name, spec in self.models)
