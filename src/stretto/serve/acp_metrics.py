"""What a server of the protocol tells Prometheus: how often it was asked for what, what became of it, how long it took,
and how full it is."""

from collections.abc import Callable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

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
        self._calls = Counter(
            "stretto_acp_calls", "Calls by verb and what became of them.", ["verb", "code"], registry=self._registry
        )
        self._seconds = Histogram(
            "stretto_acp_call_seconds",
            "Time from the arrival of a call to its reply.",
            ["verb"],
            buckets=_BUCKETS_S,
            registry=self._registry,
        )
        self._children: dict[tuple[Verb, Code | None], tuple[Counter, Histogram]] = {}
        self._gauge("stretto_acp_in_progress", "Calls that are being answered.", lambda: desk.in_progress)
        self._gauge("stretto_acp_waiting", "Calls that wait for a place.", lambda: desk.waiting)
        self._gauge("stretto_acp_draining", "1 while the server takes no more calls.", lambda: desk.is_draining)
        self._tell_components(desk)

    def count(self, verb: Verb, code: Code | None, seconds: float) -> None:
        """One call; None where it was answered."""
        pair = self._children.get((verb, code))
        if pair is None:
            calls = self._calls.labels(verb=verb.value, code=_OK if code is None else code.value)
            pair = self._children[verb, code] = (calls, self._seconds.labels(verb=verb.value))
        pair[0].inc()
        pair[1].observe(seconds)

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
