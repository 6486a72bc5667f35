"""What a server of the protocol tells Prometheus: how often it was asked for what, what became of it, how long it took,
and how full it is."""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import Final

from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from stretto.acp.names import Verb
from stretto.acp.server.desk import Desk
from stretto.types.errors import Code

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
"""Prometheus text exposition format 0.0.4."""

_BUCKETS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""From a lookup to a language model."""

_OK: Final = "ok"


class AcpMetrics:
    """One server's figures, in a registry of its own: nothing else of the process is told."""

    def __init__(self, desk: Desk) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._calls = _Calls()
        self._registry.register(self._calls)
        self.count = self._calls.count
        """Takes a verb, the code of its failure or None, and how many seconds it took."""
        self._gauge("stretto_acp_in_progress", "Calls that are being answered.", lambda: desk.in_progress)
        self._gauge("stretto_acp_waiting", "Calls that wait for a place.", lambda: desk.waiting)
        self._gauge("stretto_acp_draining", "1 while the server takes no more calls.", lambda: desk.is_draining)
        self._tell_components(desk)

    def text(self) -> bytes:
        """Everything, in the text exposition format."""
        return generate_latest(self._registry)

    def _gauge(self, name: str, told: str, read: Callable[[], float]) -> None:
        Gauge(name, told, registry=self._registry).set_function(read)

    def _tell_components(self, desk: Desk) -> None:
        labels = ["component", "version", "digest"]
        info = Gauge("stretto_acp_component_info", "What is served.", labels, registry=self._registry)
        for served in desk.served:
            card = served.card
            info.labels(component=card.name, version=card.version, digest=card.digest).set(1)


class _Calls(Collector):
    """Calls, counted without the library's locks: one event loop counts, and whoever reads is told a moment."""

    def __init__(self) -> None:
        self._codes: dict[tuple[Verb, Code | None], int] = {}
        self._times: dict[Verb, list[int]] = {}
        self._sums_s: dict[Verb, float] = {}

    def count(self, verb: Verb, code: Code | None, seconds: float) -> None:
        key = (verb, code)
        self._codes[key] = self._codes.get(key, 0) + 1
        times = self._times.get(verb)
        if times is None:
            times = self._times[verb] = [0] * (len(_BUCKETS_S) + 1)
            self._sums_s[verb] = 0.0
        times[bisect_left(_BUCKETS_S, seconds)] += 1
        self._sums_s[verb] += seconds

    def collect(self) -> Iterable[Metric]:
        calls = CounterMetricFamily(
            "stretto_acp_calls", "Calls by verb and what became of them.", labels=["verb", "code"]
        )
        for (verb, code), number in self._codes.items():
            calls.add_metric([verb.value, _OK if code is None else code.value], number)
        yield calls
        seconds = HistogramMetricFamily(
            "stretto_acp_call_seconds", "Time from the arrival of a call to its reply.", labels=["verb"]
        )
        for verb, times in self._times.items():
            seconds.add_metric([verb.value], _cumulative(times), self._sums_s[verb])
        yield seconds


def _cumulative(times: list[int]) -> list[tuple[str, float]]:
    """Each upper bound with how many took no longer."""
    total, buckets = 0, []
    for bound, number in zip((*map(str, _BUCKETS_S), "+Inf"), times, strict=True):
        total += number
        buckets.append((bound, float(total)))
    return buckets
