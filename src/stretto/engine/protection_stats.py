"""What became of the calls of a component that is protected, as it can be read at any time."""

from typing import Final, Self

import msgspec

from stretto.engine.breaker import BreakerState, Tally


class ProtectionStats(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the calls of one component since its workflow was loaded."""

    calls: int
    """Made by steps and by other components; retries are not counted."""
    attempts: int
    """That reached the component."""
    retries: int
    """Hedges too."""
    hedges: int
    """Made beside a call that took long."""
    retries_refused: int
    """Not made, because the quota was used up."""
    shed: int
    """Refused by the bulkhead, or that waited there for too long."""
    refused: int
    """Refused by the open breaker."""
    in_flight: int
    waiting: int
    retries_left: int
    """In the quota."""
    tally: Tally | None
    """The calls in the breaker's window; None without one."""
    state: BreakerState | None
    """Of the breaker; None without one."""
    limit: int | None
    """Of the bulkhead, as it stands; None without one."""
    latency_ms: float | None
    """Median time to answer of the last minute's calls; None when there were none."""

    def added_to(self, other: Self | None) -> Self:
        """The sum of both; what is a state is this one's."""
        if other is None:
            return self
        counted = {name: getattr(self, name) + getattr(other, name) for name in _COUNTS}
        latency_ms = other.latency_ms if self.latency_ms is None else self.latency_ms
        return msgspec.structs.replace(self, **counted, latency_ms=latency_ms)

    @property
    def amplification(self) -> float:
        """Attempts for each call: 1 when nothing is tried again."""
        return self.attempts / self.calls if self.calls else 0.0


_STATES: Final = ("tally", "state", "limit", "latency_ms")

_COUNTS: Final = tuple(name for name in ProtectionStats.__struct_fields__ if name not in _STATES)
