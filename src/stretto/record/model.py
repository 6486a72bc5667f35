"""Run, StepRecord, Attempt, Annotation: what is kept of one decision cycle, online and in training alike.

Inputs and outputs are held as encoded JSON (`msgspec.Raw`): a snapshot that no component can change later,
and that is written to disk as it stands. Beside each such field, ``NAME_value`` is what it holds, a fresh copy.
"""

from datetime import timedelta
from typing import Any, Final, Self

import msgspec
import orjson

from stretto.types.budget import BudgetSpec
from stretto.types.enums import Effect, Reason, RunStatus, StepStatus
from stretto.types.errors import Violation
from stretto.types.ids import Digest, RunId, StepPath
from stretto.types.json import Json
from stretto.types.learning import Action, ModelCall, Reward
from stretto.types.messages import Usage

FORMAT: Final = "stretto.run/1"
"""Name and major version of the record's JSON form."""

NULL: Final = msgspec.Raw(b"null")

LAY_MS: Final = "lay_ms"
"""Evidence of a run that was resumed: for how long of its `duration_ms` nothing was done for it."""

_MS: Final = timedelta(milliseconds=1)


def decoded(raw: msgspec.Raw) -> Any:  # JSON: narrowing is the reader's, who knows what was encoded
    """The value that a snapshot holds; a fresh copy at each call."""
    return orjson.loads(memoryview(raw))


class ErrorInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An error as data."""

    code: str
    """Stretto's stable code: ``component.contract``."""
    message: str
    rpc_code: str = ""
    """google.rpc.Code by name, when a component failed."""
    path: str = ""
    """Step path where it arose."""
    violations: tuple[Violation, ...] = ()


class Attempt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One try at a step's call."""

    started_ms: float
    """Since the run started."""
    queue_ms: float = 0.0
    """Waiting before the component worked on it."""
    service_ms: float = 0.0
    """The component working."""
    error: ErrorInfo | None = None


class StepRecord(msgspec.Struct, gc=False, kw_only=True, omit_defaults=True):  # as a Run is
    """What happened at one step path."""

    path: StepPath
    status: StepStatus
    component: str = ""
    """Name in the manifest; empty for loops, maps and other steps that call nothing themselves."""
    action: str = ""
    effect: Effect = Effect.PURE
    reason: Reason | None = None
    """Why it was downgraded or skipped for cause."""
    started_ms: float = 0.0
    ended_ms: float = 0.0
    queue_ms: float = 0.0
    """Of the attempt that answered, or failed last."""
    service_ms: float = 0.0
    input: msgspec.Raw = NULL
    output: msgspec.Raw = NULL
    error: ErrorInfo | None = None
    attempts: tuple[Attempt, ...] = ()
    """Empty when the first attempt answered: its times are the step's."""
    actions: tuple[Action, ...] = ()
    model_calls: tuple[ModelCall, ...] = ()
    rewards: tuple[Reward, ...] = ()
    usage: Usage | None = None
    evidence: dict[str, Json] = msgspec.field(default_factory=dict)
    simulated: bool = False
    """It stands downstream of a substitute, so folds leave it out unless asked."""
    reused_from: str = ""
    """Run id whose recorded response stands here, in a resumed or replayed run, or in a later pass over a batch."""

    @property
    def is_quarantined(self) -> bool:
        """A value in it meant nothing, in a domain of mode `quarantine`: no fold learns from it."""
        return self.evidence.get("quarantined") is True

    @property
    def input_value(self) -> Any:  # JSON: narrowing is the reader's
        """What its component was asked."""
        return decoded(self.input)

    @property
    def output_value(self) -> Any:  # JSON: narrowing is the reader's
        """What its component answered."""
        return decoded(self.output)


class EffectRecord(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A write: its intent, committed before the call, and its receipt, committed after it."""

    run_id: RunId
    path: StepPath
    component: str
    action: str
    request_digest: Digest
    """Of the canonical request: a receipt stands only for an equal request."""
    request: msgspec.Raw
    intended_at_ns: int
    receipt: msgspec.Raw | None = None
    """The response; None while the write is in doubt."""
    received_at_ns: int = 0
    confirmed: bool = False
    """The receipt came from asking the component, not from the call itself."""
    refused: bool = False
    """The component said that the write did not happen."""

    @property
    def request_value(self) -> Any:  # JSON: narrowing is the reader's
        """What was to be written."""
        return decoded(self.request)

    @property
    def receipt_value(self) -> Any:  # JSON: narrowing is the reader's
        """The response; None also where there is none."""
        return None if self.receipt is None else decoded(self.receipt)

    @property
    def in_doubt(self) -> bool:
        """An intent without a receipt: nobody here knows whether it happened."""
        return self.receipt is None and not self.refused


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The exact versions that a run was pinned to."""

    workflow: str
    version: str
    plan: Digest
    """Of the workflow and contract files as compiled."""
    components: dict[str, str]
    """Component name → ``version@digest``."""


class RunBudget(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one run was allowed to spend, where that was not its workflow's own budget; None is no limit."""

    deadline_ms: float | None = None
    """Since it was accepted; anew since it was resumed."""
    reserve_ms: float | None = None
    """Part of the deadline that only fallbacks may use."""
    retries: int | None = None
    tokens: int | None = None
    cost: float | None = None

    @classmethod
    def of(cls, spec: BudgetSpec) -> Self:
        """The limits of a declaration."""
        return cls(
            deadline_ms=None if spec.deadline is None else spec.deadline / _MS,
            reserve_ms=spec.reserve / _MS if spec.reserve else None,
            retries=spec.retries,
            tokens=spec.tokens,
            cost=spec.cost,
        )

    @property
    def spec(self) -> BudgetSpec:
        """The limits as they are declared."""
        return BudgetSpec(
            deadline=None if self.deadline_ms is None else self.deadline_ms * _MS,
            reserve=(self.reserve_ms or 0.0) * _MS,
            retries=self.retries,
            tokens=self.tokens,
            cost=self.cost,
        )


class Run(msgspec.Struct, gc=False, kw_only=True, omit_defaults=True):
    """The record of one decision cycle; sealed when `status` is set.

    Nothing in it can hold it, so the garbage collector need not look: with a thousand runs in flight that took 5 %.
    """

    format: str = FORMAT
    id: RunId
    workflow_run_id: str
    manifest: Manifest
    input: msgspec.Raw
    input_digest: Digest
    """Keyed SHA-256 of the canonical input (RFC 8785)."""
    started_at_ns: int
    """UTC, nanoseconds since the epoch."""
    duration_ms: float = 0.0
    """Since it was accepted; of a resumed run with what it lay (`lay_ms`)."""
    status: RunStatus | None = None
    reason: Reason | None = None
    error: ErrorInfo | None = None
    output: msgspec.Raw = NULL
    tenant: str = "default"
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    seed: int = 0
    reference: msgspec.Raw = NULL
    memory: msgspec.Raw = NULL
    """Memory fields read, with the values seen."""
    resources: msgspec.Raw = NULL
    """Resources read, with the values seen."""
    budget: RunBudget | None = None
    """Its own, in place of the workflow's."""
    steps: list[StepRecord] = msgspec.field(default_factory=list)
    """In order of completion."""
    rewards: tuple[Reward, ...] = ()
    reward: float | None = None
    """Weighted total; None is unknown or none."""
    usage: Usage | None = None
    retries: int = 0
    parent: str = ""
    """Run id of the caller, for a run that another run started."""
    traceparent: str = ""
    """Trace context of the caller (W3C Trace Context, section 3.2)."""
    tracestate: str = ""
    """What tracing systems add to it (section 3.3)."""
    effect_key: str = ""
    """By which the caller knows the call that this run answers, where the run may write: one key, one such run."""
    baggage: tuple[str, ...] = ()
    """Names of what travelled with it to every component. The values may be secret and are never recorded."""
    replay_of: str = ""
    """Run id that this one replays."""
    simulated: bool = False
    """Some step of it stands downstream of a substitute."""
    settings: int = 0
    """Revision of the workflow's settings that it began with; 0 when nothing was ever changed while it runs."""
    evidence: dict[str, Json] = msgspec.field(default_factory=dict)
    """What the engine notes of its input and output, as a step's evidence is of those of the step."""
    warnings: tuple[str, ...] = ()
    """What went wrong beside the answer: a session that could not be closed."""

    @property
    def input_value(self) -> Any:  # JSON: narrowing is the reader's
        """What it was given."""
        return decoded(self.input)

    @property
    def output_value(self) -> Any:  # JSON: narrowing is the reader's
        """What it answered; None when it did not."""
        return decoded(self.output)

    @property
    def reference_value(self) -> Any:  # JSON: narrowing is the reader's
        """The gold answers that its rewards saw."""
        return decoded(self.reference)

    @property
    def memory_value(self) -> Any:  # JSON: narrowing is the reader's
        """What the memory told it."""
        return decoded(self.memory)

    @property
    def resources_value(self) -> Any:  # JSON: narrowing is the reader's
        """The resources that it saw."""
        return decoded(self.resources)

    @property
    def is_quarantined(self) -> bool:
        """A value at a step of it, or at its own ends, meant nothing in a domain of mode `quarantine`."""
        return self.evidence.get("quarantined") is True or any(step.is_quarantined for step in self.steps)

    @property
    def lay_ms(self) -> float:
        """For how long of its duration it was interrupted or parked; 0 when it was never resumed."""
        lay = self.evidence.get(LAY_MS)
        return float(lay) if isinstance(lay, int | float) else 0.0

    @property
    def answered(self) -> bool:
        """Whether its caller got an answer: the workflow's, or that of the fallback in its place."""
        return self.succeeded or self.status is RunStatus.BUSINESS_FALLBACK

    @property
    def succeeded(self) -> bool:
        """It answered within its contract: what `workflow_success_rate` counts."""
        return self.status in (RunStatus.OK, RunStatus.DEGRADED)


class Annotation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was learnt about a sealed run later: a delayed reward, a label, a correction. Only ever appended."""

    run_id: RunId
    name: str
    value: Json
    at_ns: int
    """When it became known; folds read annotations as of a time."""
    path: StepPath = StepPath("")
    """The step it is about; empty for the run."""
    by: str = ""
    reason: str = ""
