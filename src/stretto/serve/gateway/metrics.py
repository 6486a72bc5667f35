"""What a gateway tells Prometheus: what it took on, what became of it, and what it could not record."""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from stretto.types.enums import RunStatus

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
"""Prometheus text exposition format 0.0.4."""

_CALL_S: Final = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60, 120, 300, 600)
"""Completions take from a fraction of a second to minutes."""

_ADDED_S: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.05)
"""What the gateway adds should stay below a millisecond."""


class GatewayMetrics:
    """One gateway's figures, in a registry of its own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        registry = self._registry
        self._calls = Counter("stretto_gateway_calls", "Calls by what became of them.", ["outcome"], registry=registry)
        self._under_way = Gauge("stretto_gateway_calls_under_way", "Calls under way.", registry=registry)
        self._open = Gauge("stretto_gateway_open_runs", "Runs that are open.", registry=registry)
        self._ended = Counter("stretto_gateway_runs_ended", "Runs sealed, by status.", ["status"], registry=registry)
        self._unrecorded = Counter(
            "stretto_gateway_unrecorded", "Calls, rewards and endings that could not be recorded.", registry=registry
        )
        self._untold = Counter(
            "stretto_gateway_untold", "Answers without token ids or log-probabilities.", ["what"], registry=registry
        )
        self._refusals = Counter(
            "stretto_gateway_refusals", "Requests that the gateway itself refused.", ["status"], registry=registry
        )
        self._seconds = Histogram(
            "stretto_gateway_call_seconds", "Time of one call.", buckets=_CALL_S, registry=registry
        )
        self._added = Histogram(
            "stretto_gateway_added_seconds",
            "Of a call's time until its first byte, what the gateway took.",
            buckets=_ADDED_S,
            registry=registry,
        )
        self.under_way = 0
        """Calls under way."""
        self.unrecorded = 0
        """What could not be recorded since the start."""

    def begin(self) -> None:
        self.under_way += 1
        self._under_way.set(self.under_way)

    def end(self, outcome: str, seconds: float) -> None:
        """Count a call that has ended."""
        self.under_way -= 1
        self._under_way.set(self.under_way)
        self._calls.labels(outcome=outcome).inc()
        self._seconds.observe(seconds)

    def added(self, seconds: float) -> None:
        self._added.observe(seconds)

    def open_runs(self, count: int) -> None:
        self._open.set(count)

    def ended(self, status: RunStatus) -> None:
        self._ended.labels(status=status.value).inc()

    def lost(self) -> None:
        """Count what could not be recorded."""
        self.unrecorded += 1
        self._unrecorded.inc()

    def untold(self, what: str) -> None:
        self._untold.labels(what=what).inc()

    def refused(self, status: int) -> None:
        self._refusals.labels(status=str(status)).inc()

    def text(self) -> bytes:
        """Everything, in the text exposition format."""
        return generate_latest(self._registry)
