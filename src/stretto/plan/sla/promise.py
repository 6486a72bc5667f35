"""What a contract promises of a workflow or of one of its steps, in plain numbers."""

from dataclasses import dataclass
from typing import Final

from stretto.spec.contract_model import SlaSpec
from stretto.spec.durations import seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """None promises nothing. Of a step with a component it is about one call of it; else about the whole step."""

    p95_s: float | None = None
    max_s: float | None = None
    min_success: float | None = None
    """In [0, 1]."""
    max_fallback: float | None = None
    """In [0, 1]; of the step, not of one call."""


NOTHING: Final = Promise()


def promise_of(spec: SlaSpec) -> Promise:
    """The numbers of a contract's entry."""
    return Promise(
        p95_s=seconds(spec.p95_latency),
        max_s=seconds(spec.max_latency),
        min_success=spec.min_success_rate,
        max_fallback=spec.max_fallback_rate,
    )
