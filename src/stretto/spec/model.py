"""A workflow file as read: frozen, and every name, path and expression still knows where it was written.

Expressions are kept as text; the compiler reads them.
"""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from enum import StrEnum
from typing import Final, TypeAlias

import msgspec

from stretto.spec.contract_model import ContractSpec
from stretto.spec.nodes import MapNode
from stretto.spec.resources_model import ResourcesSpec
from stretto.spec.source import Located, Source, Span
from stretto.types.budget import BudgetSpec
from stretto.types.enums import Durability, Estimator
from stretto.types.errors import Code
from stretto.types.json import Json, JsonObject
from stretto.types.protection import (
    BreakerRule,
    BulkheadRule,
    ExerciseRule,
    HedgeRule,
    Jitter,
    QuotaRule,
    StreakRule,
)

DEFAULT_MAX_PARALLEL: Final = 16
"""Items of a `for_each` in flight when the file does not say: enough to hide latency, few enough for one server."""


class OnItemError(StrEnum):
    """What a `for_each` does when one item fails."""

    FAIL = "fail"
    """The step fails."""
    NULL = "null"
    """The item's result is null and the others go on."""


class ComponentKind(StrEnum):
    """What may stand behind a step."""

    PYTHON = "python"
    ACP = "acp"
    MCP = "mcp"
    OPENAI = "openai"
    HTTP = "http"
    EXEC = "exec"
    MEMORY = "memory"
    POLICY = "policy"
    REWARD = "reward"
    RULES = "rules"
    TORCH = "torch"
    CAUSAL_LM = "causal-lm"


class LiteralSpec(msgspec.Struct, frozen=True):
    """A constant where an expression could stand: ``{value: 5}``."""

    value: Json
    span: Span


FieldSource: TypeAlias = Located[str] | LiteralSpec
"""Where a field's value comes from: an expression (a plain path or CEL), or a constant."""


class FieldMapping(msgspec.Struct, frozen=True):
    """One entry of `input_mapping`, of `carry`, or of the workflow's `output`."""

    field: Located[str]
    source: FieldSource


class AliasSpec(msgspec.Struct, frozen=True):
    """One entry of `output_mapping`: a field of the step's output gets a path in the context."""

    field: Located[str]
    """A field of the output, or a path inside it."""
    target: Located[str]
    """The context path; never one of the given roots."""


class MergeSpec(msgspec.Struct, frozen=True):
    """One context path with several writers: the first of them that is not null gives its value."""

    target: Located[str]
    sources: tuple[Located[str], ...]


class RetrySpec(msgspec.Struct, frozen=True, kw_only=True):
    """Backoff with jitter."""

    attempts: int = 3
    """The first one counted."""
    base: timedelta = timedelta(milliseconds=100)
    """Longest wait after the first failure; doubled after each further one."""
    cap: timedelta = timedelta(seconds=10)
    """Longest wait ever."""
    on: tuple[Code, ...] = ()
    """Errors to retry on; empty leaves it to what the error says of itself."""
    when: Located[str] | None = None
    """Condition on an answer, by which it counts as none."""
    jitter: Jitter = Jitter.FULL
    quota: Located[QuotaRule] | None = None
    """Of the component, for all its steps; None leaves the default."""


class BulkheadSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A component's bulkhead, and who goes first in it."""

    rule: BulkheadRule | None
    """Of the component; None where a step says only its priority."""
    priority: int = 0
    """Of the step."""


class FallbackSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What answers when a step failed: exactly one of the first two is set."""

    component: Located[str] | None = None
    output: Located[JsonObject] | None = None
    streak: Located[StreakRule] | None = None
    """Of the component, for all its steps with a fallback; None leaves the default."""


class ResilienceSpec(msgspec.Struct, frozen=True, kw_only=True):
    """How a step copes with failure."""

    timeout: timedelta | None = None
    """For each attempt."""
    retry: RetrySpec | None = None
    breaker: Located[BreakerRule] | None = None
    """Of the component, for all its steps."""
    bulkhead: Located[BulkheadSpec] | None = None
    hedge: Located[HedgeRule] | None = None
    fallback: FallbackSpec | None = None
    places: dict[str, Span] = msgspec.field(default_factory=dict)
    """Where each of its keys stands."""


class EstimateSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What one call is expected to use: set aside from the run's budget before it, settled after it."""

    tokens: int = 0
    cost: float = 0.0
    """In the currency of the budget."""


class RepeatSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A bounded loop."""

    steps: tuple["StepSpec", ...]
    carry: tuple[FieldMapping, ...] = ()
    """What a round sees of the one before: name, and its value before the first."""
    until: Located[str] | None = None
    """Asked after each round; None runs all rounds."""
    max_rounds: int


class ForEachSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A step that is done once for each item of a list."""

    over: Located[str]
    """The list, as an expression."""
    item: Located[str] | None = None
    """Name of the item in the body, from the key `as`; None leaves ``item``."""
    max_parallel: int | None = None
    on_item_error: OnItemError = OnItemError.FAIL
    steps: tuple["StepSpec", ...] = ()
    """The body; empty when the step's own component or workflow is the body."""


class StepSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One step. Exactly one of `component`, `workflow`, `repeat` and ``for_each.steps`` says what it does."""

    span: Span
    name: Located[str]
    component: Located[str] | None = None
    workflow: Located[str] | None = None
    """Path of a workflow file, or name of a registered workflow."""
    repeat: RepeatSpec | None = None
    for_each: ForEachSpec | None = None
    condition: Located[str] | None = None
    input_mapping: tuple[FieldMapping, ...] | None = None
    """None when the key is absent."""
    output_mapping: tuple[AliasSpec, ...] = ()
    merge: tuple[MergeSpec, ...] = ()
    needs: tuple[Located[str], ...] = ()
    resilience: ResilienceSpec = ResilienceSpec()
    estimate: EstimateSpec = EstimateSpec()
    share: float | None = None
    """Largest part of what is left of the budget that this step may spend, in (0, 1]."""
    estimator: Estimator | None = None
    """How its component's choice is learnt from; None where nothing is said."""

    @property
    def inside(self) -> "tuple[StepSpec, ...]":
        """The steps of its body; none for a step that calls something itself."""
        repeated = () if self.repeat is None else self.repeat.steps
        return (*repeated, *(() if self.for_each is None else self.for_each.steps))


def steps_in(steps: Iterable[StepSpec]) -> Iterator[StepSpec]:
    """Steps in the order of the file, each followed by those inside it."""
    for step in steps:
        yield step
        yield from steps_in(step.inside)


class ComponentFile(msgspec.Struct, frozen=True):
    """A Python file whose components can be used."""

    path: Located[str]
    """As written: relative to the workflow file."""


class ComponentDecl(msgspec.Struct, frozen=True, kw_only=True):
    """A component that is declared in the workflow file."""

    name: Located[str]
    kind: ComponentKind
    options: MapNode
    """Everything but `kind`; what may stand here, the kind knows."""


class ExpectationSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What the answers of a fallback must satisfy: those for which `when` is true, or all."""

    name: Located[str]
    when: Located[str] | None = None
    holds: Located[str]


class BusinessSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What answers in the place of a whole workflow that failed."""

    span: Span
    component: Located[str]
    input_mapping: tuple[FieldMapping, ...] | None = None
    """None when the key is absent."""
    output: tuple[FieldMapping, ...] = ()
    """Empty when its answer is the workflow's as it is."""
    streak: StreakRule = StreakRule()
    exercise: ExerciseRule | None = None
    expectations: tuple[ExpectationSpec, ...] = ()
    """Read from their own file when the key gives a path."""
    expectations_path: Located[str] | None = None


class WorkflowSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A whole workflow file."""

    source: Source
    name: str
    """From the file's name when the key is absent."""
    version: str = "0.0.0"
    description: str = ""
    contract: ContractSpec | None = None
    """Read from its own file when `contract` is a path; None without one, or when files were left unread."""
    contract_path: Located[str] | None = None
    components: tuple[ComponentFile | ComponentDecl, ...] = ()
    memory: Located[str] | None = None
    """Name of the component that provides ``memory.*``."""
    resources: ResourcesSpec | None = None
    """Which probes fill ``resources.*``; None leaves it to whoever runs the workflow."""
    budget: BudgetSpec = BudgetSpec()
    durability: Durability = Durability.RUN
    fallback: BusinessSpec | None = None
    steps: tuple[StepSpec, ...]
    output: tuple[FieldMapping, ...] = ()

    @property
    def named_components(self) -> Iterator[Located[str]]:
        """What its steps and fallbacks call, in the order of the file."""
        for step in steps_in(self.steps):
            fallback = step.resilience.fallback
            for named in (step.component, None if fallback is None else fallback.component):
                if named is not None:
                    yield named
        if self.fallback is not None:
            yield self.fallback.component
