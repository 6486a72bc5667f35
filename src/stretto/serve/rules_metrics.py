"""What served rules tell Prometheus: how often they had to answer, how long it took, and which rules they are."""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import UnknownMetricFamily
from prometheus_client.registry import Collector

from stretto.types.ids import Digest

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
"""Prometheus text exposition format 0.0.4."""

_BUCKETS_S: Final = (0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25)
"""Rules take 10 to 1000 µs; what is above is the machine's."""


class RuleMetrics:
    """One server's figures, in a registry of its own: nothing else of the process is told."""

    def __init__(self, file: str, digest: Digest) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._answers = Counter(
            "stretto_rules_answers", "Answers given by the rules.", ["traffic"], registry=self._registry
        )
        self._refusals = Counter(
            "stretto_rules_refusals", "Requests that got a problem.", ["status"], registry=self._registry
        )
        self._seconds = Histogram(
            "stretto_rules_decide_seconds", "Time of one decision.", buckets=_BUCKETS_S, registry=self._registry
        )
        info = Gauge("stretto_rules_info", "Which rules are served.", ["file", "digest"], registry=self._registry)
        info.labels(file=file, digest=digest).set(1)
        self._answered = 0
        self._registry.register(_Triggered(self))

    @property
    def answered(self) -> int:
        """Answers given to real traffic since the start."""
        return self._answered

    def count_answer(self, seconds: float, *, is_real: bool) -> None:
        self._answered += is_real
        self._answers.labels(traffic="real" if is_real else "other").inc()
        self._seconds.observe(seconds)

    def count_refusal(self, status: HTTPStatus) -> None:
        self._refusals.labels(status=str(int(status))).inc()

    def text(self) -> bytes:
        """Everything, in the text exposition format."""
        return generate_latest(self._registry)


class _Triggered(Collector):
    """`business_fallback_triggered_count`: a counter whose name ends as its users have it, not in ``_total``."""

    def __init__(self, metrics: RuleMetrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[UnknownMetricFamily]:
        told = "How often the business fallback answered since this process began."
        yield UnknownMetricFamily("business_fallback_triggered_count", told, value=self._metrics.answered)
