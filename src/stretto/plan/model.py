"""The Plan: what compile yields and both interpreters execute. Immutable; operations over numbered slots.

A *frame* is a list with one place per slot of the workflow. Slots 0 to 3 are the given roots; every step, loop
variable and carry has one more. Bodies of loops and maps run on a copy of their parent's frame, so they read
what stands outside and write only what is theirs. Paths were resolved to slots by the compiler: at run time
there is no context to search.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from stretto.plan.check import Check
from stretto.plan.meaning.crossing import Crossing, Held
from stretto.plan.meaning.domain import Domain
from stretto.plan.sla.promise import Promise
from stretto.plan.valuetype import DYN, ValueType
from stretto.record.model import Manifest
from stretto.spec.resources_model import ResourcesSpec
from stretto.types.budget import BudgetSpec
from stretto.types.card import ANY_OBJECT
from stretto.types.enums import Durability, Effect, Estimator
from stretto.types.errors import Code, ComponentError, RejectedError
from stretto.types.ids import Digest
from stretto.types.json import Json, Schema
from stretto.types.protection import (
    BreakerRule,
    BulkheadRule,
    ExerciseRule,
    HedgeRule,
    Jitter,
    QuotaRule,
    StreakRule,
)
from stretto.types.protocols import Component, RetryRule

Frame: TypeAlias = list[Any]
"""Slot values of one run or one loop round; JSON, or None where nothing was written."""

Getter: TypeAlias = Callable[[Frame], Json]
"""Reads one value from a frame; what is missing reads as None."""

Resources: TypeAlias = frozenset[tuple[str, ...]]
"""What is read below the root `resources`: each a path of names; of a list, the whole of it."""

NO_RESOURCES: Final[Resources] = frozenset()

INPUT, MEMORY, RESOURCES, RUN = range(4)
FIRST_FREE_SLOT: Final = 4


@dataclass(frozen=True, slots=True)
class Retry:
    """Backoff with jitter (AWS Architecture Blog, "Exponential Backoff And Jitter", 2015), after failed attempt n:
    full jitter waits U(0, min(cap, base * 2^(n-1))), decorrelated jitter min(cap, U(base, 3 * the wait before))."""

    max_attempts: int = 3
    base_s: float = 0.1
    cap_s: float = 10.0
    codes: frozenset[Code] = frozenset()
    """Codes to retry on; empty means what the error itself says of retrying."""
    jitter: Jitter = Jitter.FULL

    def delay_s(self, attempt: int, error: ComponentError, draw: float, last_s: float = 0.0) -> float | None:
        """Seconds to wait after failed attempt `attempt`, or None to give up. A component's Retry-After is a floor.

        An answer that was refused is tried again whatever the codes, which are those of errors.
        """
        if attempt >= self.max_attempts:
            return None
        is_named = isinstance(error, RejectedError) or error.rpc_code in self.codes
        if not is_named if self.codes else not error.retryable:
            return None
        return max(self._backoff_s(attempt, draw, last_s), error.retry_after_s or 0.0)

    def longest_wait_s(self, attempt: int) -> float:
        """Seconds that it waits after failed attempt `attempt` at most, but for what a component asks for."""
        growth = 3.0 if self.jitter is Jitter.DECORRELATED else 2.0
        return min(self.cap_s, self.base_s * growth ** (attempt - 1))

    def _backoff_s(self, attempt: int, draw: float, last_s: float) -> float:
        if self.jitter is Jitter.DECORRELATED:
            highest = max(self.base_s, 3.0 * last_s)
            return min(self.cap_s, self.base_s + draw * (highest - self.base_s))
        return draw * self.longest_wait_s(attempt)


NO_RETRY: Final[RetryRule] = Retry(max_attempts=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectionRules:
    """What protects one component from all runs of a workflow, and them from it; None where nothing was declared."""

    quota: QuotaRule | None = None
    breaker: BreakerRule | None = None
    bulkhead: BulkheadRule | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    """What all operations share."""

    name: str
    slot: int
    """Where its output goes."""
    guard: Getter | None = None
    """Condition; the step is skipped unless it reads true."""
    guard_source: str = ""
    guard_reads: frozenset[int] = frozenset()
    reads: frozenset[int] = frozenset()
    """Every slot it reads, guard included."""
    resources: Resources = NO_RESOURCES
    """What it reads of `resources` itself, guard included: as it is now, and recorded with the step."""
    share: float | None = None
    """Largest part of what is left of the budget that it may spend, in (0, 1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOp(Op):
    """Call one component."""

    component: Component
    component_name: str
    """By which the record and the manifest know it."""
    inputs: tuple[tuple[str, Getter], ...]
    input_check: Check | None
    """None when compile proved that every value fits."""
    output_check: Check | None
    """None when the card promises nothing."""
    action_field: str = ""
    action: str = ""
    effect: Effect = Effect.READ
    """Of the component's single action; looked up per call when `action_field` is set."""
    timeout_s: float | None = None
    retry: RetryRule = NO_RETRY
    rejects: Getter | None = None
    """Condition on an answer, by which it counts as none; read from a frame of the output and the request."""
    rejects_source: str = ""
    hedge: HedgeRule | None = None
    priority: int = 0
    """Whose call goes first when others wait for the component."""
    fallback: "Fallback | None" = None
    estimate_tokens: int = 0
    """Set aside from the budget for each attempt, until it is known what it used."""
    estimate_cost: float = 0.0
    per_run: bool = False
    """The component has scope ``run``: the call goes to the run's session."""
    sees_reference: bool = False
    estimator: Estimator | None = None
    """How the component's choice is learnt from, where a batch is run; None where nothing is said."""
    calls_others: bool = False
    crossings_in: tuple[Crossing, ...] = ()
    """Fields of the request that belong to semantic domains."""
    crossings_out: tuple[Crossing, ...] = ()
    """Fields of the output that do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fallback:
    """What answers for a step that failed: another component asked the same, a fixed output, or a value of the run."""

    op: CallOp | None = None
    output: bytes | None = None
    """Encoded JSON object, checked against the step's output schema at compile time; ``null`` leaves the step out."""
    get: Getter | None = None
    """Reads the output from the step's frame."""
    source: str = ""
    """The path that `get` reads."""
    crossings: tuple[Crossing, ...] = ()
    """Fields of what `get` reads that belong to domains of the step's output, and come of others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MapOp(Op):
    """Run a body for each item of a list; results in item order as ``{"items": [...]}``."""

    over: Getter
    over_source: str
    over_reads: frozenset[int] = frozenset()
    item_slot: int
    index_slot: int
    body: "Block"
    result: Getter
    """One item's result, read from the body's frame."""
    max_parallel: int
    null_on_error: bool = False

    @property
    def sole_call(self) -> CallOp | None:
        """The one component that it calls when its body has no steps of its own."""
        only = self.body.ops[0] if self.body.ops else None
        return only if isinstance(only, CallOp) and not only.name else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Carry:
    """A value that passes from one round to the next."""

    name: str
    slot: int
    start: Getter
    """Its value before round 1, read outside the loop."""
    next: Getter | None
    """Its value for the next round, read from this round's frame; None when no step writes it."""
    start_reads: frozenset[int] = frozenset()
    next_reads: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopOp(Op):
    """Run a body until a condition holds, at most `max_rounds` times."""

    body: "Block"
    carries: tuple[Carry, ...]
    round_slot: int
    until: Getter | None
    until_source: str
    until_reads: frozenset[int] = frozenset()
    until_resources: Resources = NO_RESOURCES
    """What `until` reads of `resources`, anew after each round."""
    max_rounds: int
    results: tuple[tuple[str, int], ...]
    """Name and slot of each body step: what ``steps.<loop>.last`` holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubOp(Op):
    """Run another workflow as one step, inside the same run and from the same budget."""

    plan: "Plan"
    inputs: tuple[tuple[str, Getter], ...]
    crossings_in: tuple[Crossing, ...] = ()
    """By this contract, then by that of the plan inside, whose translations are from the domains of this one."""
    crossings_out: tuple[Crossing, ...] = ()
    """By this contract; by that of the plan inside they are the plan's own."""


AnyOp: TypeAlias = CallOp | MapOp | LoopOp | SubOp


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What a fallback's answer must satisfy."""

    name: str
    holds: Getter
    """Both read a frame of two: the input, and the answer."""
    when: Getter | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BusinessFallback:
    """What answers in the place of the whole workflow."""

    op: CallOp
    """Its request is read from the frame of the run that failed; its answer goes to its slot."""
    takes: frozenset[str] | None = None
    """Without a mapping: the fields of the workflow's input that it is asked with, where they are. None is all."""
    is_mapped: bool = False
    """Its request is made by the inputs of `op`, and not by `takes`."""
    output: tuple[tuple[str, Getter], ...] = ()
    """The workflow's output, made of its answer; empty when that is its answer as it is."""
    crossings_out: tuple[Crossing, ...] = ()
    """Fields of that output that belong to domains."""
    streak: StreakRule
    exercise: ExerciseRule | None = None
    expectations: tuple[Expectation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Steps that share a scope, with the order that the data flow leaves."""

    ops: tuple[AnyOp, ...]
    """In an order where every step follows what it needs."""
    linear: bool
    """True when that order is the only one: executed without a task switch."""
    indegree: tuple[int, ...] = ()
    """How many others each op waits for."""
    children: tuple[tuple[int, ...], ...] = ()
    """Which ops wait for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something `stretto check` says that is not an error."""

    place: str
    text: str
    verbose: bool = False
    """Shown with ``-v`` only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A compiled workflow."""

    name: str
    version: str
    manifest: Manifest
    manifest_digest: Digest
    files_digest: Digest
    """Of its file and contract and of those of workflows inside, whatever their components are."""
    body: Block
    slots: int
    """Places in a frame."""
    slot_names: tuple[str, ...]
    """What each slot holds, for people: ``steps.planner``."""
    components: dict[str, Component]
    """Every component that a run may call, by the name that the record uses."""
    input_check: Check | None
    output_check: Check | None
    output: tuple[tuple[str, Getter], ...]
    """Output field → where it is read."""
    output_reads: frozenset[int] = frozenset()
    input_schema: Schema = field(default_factory=lambda: ANY_OBJECT)
    output_type: ValueType = DYN
    output_resources: Resources = NO_RESOURCES
    budget: BudgetSpec = field(default_factory=BudgetSpec)
    durability: Durability = Durability.RUN
    description: str = ""
    """What it is for, by its file."""
    nested: dict[str, CallOp] = field(default_factory=dict)
    """Operations for components that other components call, by name; filled when a component has the capability
    ``call``."""
    memory: CallOp | None = None
    """Reads the `memory` root before the first step; None when no step reads it."""
    protections: dict[str, ProtectionRules] = field(default_factory=dict)
    """What protects a component, by its name: of those only for which anything was declared."""
    streaks: dict[str, StreakRule] = field(default_factory=dict)
    """When the fallbacks of a component's steps answer without trying, by its name: of those that have any."""
    business: BusinessFallback | None = None
    """What answers when the run fails; None where a failed run stays failed."""
    promises: dict[str, Promise] = field(default_factory=dict)
    """What the contract promises, by ``workflow`` or the name of a step."""
    resources: ResourcesSpec | None = None
    """Which probes fill `resources.*`; None where only the caller does."""
    resource_names: frozenset[str] | None = None
    """What a caller may give in their place, or beside them; None where that is anything."""
    reads_run: bool = False
    crossings_in: tuple[Crossing, ...] = ()
    """Fields of the input that belong to semantic domains."""
    crossings_out: tuple[Crossing, ...] = ()
    """Fields of the output that do."""
    domains: dict[str, Domain] = field(default_factory=dict)
    """Semantic domains of the contract, by name, but for those that are off."""
    held: tuple[Held, ...] = ()
    """Every place where one is held."""
    mappings_compared: int = 0
    """Mappings into a domain that were compared with where their values come from."""
    reward_weights: dict[str, float] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()


def block_in(op: Op) -> Block | None:
    """The block that a step holds, that of its workflow for a sub-workflow; None for a call."""
    if isinstance(op, SubOp):
        return op.plan.body
    return op.body if isinstance(op, MapOp | LoopOp) else None
