"""The closed sets that the record, the engine and people share.

Before Python 3.12 a class of these looks a member up in 65 ns, so what is asked at each step has a name in its module.
"""

from enum import StrEnum


class Effect(StrEnum):
    """What an action does to the world. Retry, hedge, resume and replay obey it."""

    PURE = "pure"
    """Nothing is read or written; the same request gives the same response."""
    READ = "read"
    """The world is read; repeating it is harmless."""
    WRITE = "write"
    """The world is changed; never repeated unless the component says that it may be."""


class StepStatus(StrEnum):
    """How a step ended."""

    OK = "ok"
    SKIPPED = "skipped"
    """Its guard was false, or what it needs was skipped."""
    FALLBACK = "fallback"
    """It failed and its fallback answered."""
    FAILED = "failed"


class RunStatus(StrEnum):
    """How a run ended. A run that has not ended has no status."""

    OK = "ok"
    DEGRADED = "degraded"
    """It answered, and at least one step was answered by its fallback."""
    BUSINESS_FALLBACK = "business_fallback"
    """Deterministic rules answered in the workflow's place."""
    FAILED = "failed"
    PARKED = "parked"
    """A write is in doubt and waits for a person; never reported as ok."""
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    """The deadline passed with no answer."""


class Reason(StrEnum):
    """Why a step or a run was downgraded, so that learning can tell a choice from an accident."""

    TIMEOUT = "timeout"
    CONGESTION = "congestion"
    BREAKER = "breaker"
    BUDGET = "budget"
    CONTRACT = "contract"
    ERROR = "error"
    IN_DOUBT = "in_doubt"
    CANCELLED = "cancelled"


class Outcome(StrEnum):
    """What a component says of its own answer."""

    OK = "ok"
    FALLBACK = "fallback"
    PARTIAL = "partial"
    REFUSED = "refused"


class Durability(StrEnum):
    """How much of a run survives a killed process."""

    NONE = "none"
    """The sealed run is written behind; a crash may lose it. For rollouts."""
    RUN = "run"
    """The sealed run is committed before the caller gets its answer."""
    STEP = "step"
    """Acceptance, intents and receipts are committed before going on; the run can be resumed."""


class Scope(StrEnum):
    """How long one instance of a component lives."""

    PROCESS = "process"
    RUN = "run"


class Estimator(StrEnum):
    """How a discrete choice is learnt from, where a workflow is run as a module."""

    SCORE = "score"
    """Log-probability times what lies downstream: unbiased."""
    RELAX = "relax"
    """The same, less what a surrogate foretells, as a control variate: unbiased whatever that is worth."""
    ENUMERATE = "enumerate"
    """Everything downstream is run for each alternative: exact, at that many calls."""
    STRAIGHT_THROUGH = "straight-through"
    """What reads the choice has its gradient passed to the probabilities: biased."""
    GUMBEL = "gumbel"
    """The same to a relaxed sample: biased."""
    RAO_BLACKWELL = "rao-blackwell"
    """The same to the mean of relaxed samples: biased, with less variance."""
    SURROGATE = "surrogate"
    """Of a step outside that chooses nothing: its gradient is that of a network that learnt its answers: biased."""
