"""A chaos plan as read: frozen, every name still located."""

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum

import msgspec

from stretto.spec.durations import render
from stretto.spec.source import Located, Source, Span
from stretto.types.errors import Code
from stretto.types.json import JsonObject


class FaultKind(StrEnum):
    """What goes wrong with a call."""

    LATENCY = "latency"
    """It takes longer, always as much."""
    JITTER = "jitter"
    """It takes longer, by anything up to as much."""
    ERROR = "error"
    """It is answered with an error."""
    HANG = "hang"
    """It is never answered."""
    RESET = "reset"
    """The connection breaks."""
    SLOW_BODY = "slow_body"
    """The work is done at once, and its answer arrives slowly."""
    TRUNCATED_BODY = "truncated_body"
    """The answer breaks off."""
    GARBAGE = "garbage"
    """Bytes of the answer are others."""
    WRONG_TYPE = "wrong_type"
    """A field of the answer has another type."""
    MISSING_FIELD = "missing_field"
    """A field of the answer is not there."""
    WRONG_VALUE = "wrong_value"
    """A field of the answer fits its schema and is not what was meant."""
    DUPLICATE = "duplicate"
    """It is delivered twice."""
    LOSS = "loss"
    """The component is away, for a while or for good."""
    CLOCK_SKEW = "clock_skew"
    """The component's clock is ahead or behind."""
    FULL_QUEUE = "full_queue"
    """It is refused, for there is no place."""


class When(StrEnum):
    """On which side of the component's work a fault strikes."""

    BEFORE = "before"
    """The component is not asked: it did nothing."""
    AFTER = "after"
    """The component did its work, and nobody hears of it in time."""


class FaultSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of fault at one place."""

    span: Span
    fault: FaultKind
    rate: float
    """Part of the calls there, in [0, 1]; of runs, where a component is lost."""
    component: Located[str] | None = None
    step: Located[str] | None = None
    action: Located[str] | None = None
    when: When | None = None
    delay: timedelta | None = None
    code: Code | None = None
    retry_after: timedelta | None = None
    field: Located[str] | None = None
    after_calls: int = 0
    lasts: timedelta | None = None
    """From the key `for`; None is until the run ends."""
    ahead: timedelta | None = None
    behind: timedelta | None = None

    @property
    def place(self) -> str:
        """Where it strikes, in words: ``component shop (cancel_order)``."""
        named = self.component or self.step
        what = "component" if self.component is not None else "step"
        action = f" ({self.action.value})" if self.action is not None else ""
        return f"{what} {named.value if named is not None else ''}{action}"

    @property
    def parameters(self) -> dict[str, str]:
        """What the plan says of it besides its place and rate, by key: ``{"delay": "250ms"}``."""
        given: dict[str, When | Code | Located[str] | int | timedelta | None] = {
            "when": self.when,
            "delay": self.delay,
            "code": self.code,
            "retry_after": self.retry_after,
            "field": self.field,
            "after_calls": self.after_calls or None,
            "for": self.lasts,
            "ahead": self.ahead,
            "behind": self.behind,
        }
        return {key: _text(value) for key, value in given.items() if value is not None}

    @property
    def words(self) -> str:
        """What it is, so that two of one kind are told apart: ``error (code: unavailable)``."""
        told = ", ".join(f"{key}: {value}" for key, value in self.parameters.items())
        return f"{self.fault.value} ({told})" if told else self.fault.value


def _text(value: When | Code | Located[str] | int | timedelta) -> str:
    if isinstance(value, timedelta):
        return render(value)
    return value.value if isinstance(value, Located) else str(value)


class ExpectSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What must come of it; None asks nothing."""

    min_answered_rate: float | None = None
    max_amplification: float | None = None
    min_mutation_score: float | None = None
    max_duplicated_effects: int = 0
    max_lost_runs: int = 0
    max_parked_runs: int | None = None


class ChaosSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A whole chaos plan."""

    source: Source
    span: Span
    faults: tuple[FaultSpec, ...]
    expect: ExpectSpec = ExpectSpec()
    seed: int = 0
    run_limit: timedelta = timedelta(seconds=60)
    mutants: int = 50
    inputs: tuple[Mapping[str, object], ...] = ()
    """Given in place."""
    inputs_file: Located[str] | None = None
    tasks_file: Located[str] | None = None


class Written(msgspec.Struct, frozen=True):
    """Inputs as they stand in the plan: in place, or in a file."""

    values: tuple[JsonObject, ...] = ()
    file: Located[str] | None = None
