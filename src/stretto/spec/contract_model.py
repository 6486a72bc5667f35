"""A contract file as read: frozen, with schemas made plain and every name still located."""

from collections.abc import Mapping
from datetime import timedelta

import msgspec

from stretto.spec.source import Located, Source, Span
from stretto.types.json import Json
from stretto.types.meaning import MeaningMode


class SchemaSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What a workflow takes or answers, as JSON Schema 2020-12."""

    schema: Mapping[str, Json]


class BreachSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What happens when an SLA is broken."""

    skip: bool = False
    use: Located[str] | None = None
    """The path whose value stands in."""


class SlaSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What is promised of the workflow or of one step; None promises nothing."""

    target: Located[str]
    """``workflow``, or the name of a step."""
    p95_latency: timedelta | None = None
    max_latency: timedelta | None = None
    min_success_rate: float | None = None
    """In [0, 1]."""
    max_fallback_rate: float | None = None
    """In [0, 1]."""
    on_breach: BreachSpec | None = None


class DomainValue(msgspec.Struct, frozen=True):
    """One value of a semantic domain."""

    value: Located[str]
    means: str = ""


class Translation(msgspec.Struct, frozen=True):
    """How the values of another domain are said in this one."""

    domain: Located[str]
    values: tuple[tuple[Located[str], Located[str]], ...]
    """Value there, value here."""


class Synonyms(msgspec.Struct, frozen=True):
    """Other words for one value of a domain."""

    value: Located[str]
    words: tuple[Located[str], ...]


class MeaningRule(msgspec.Struct, frozen=True):
    """A text in which a pattern is found means one value of a domain."""

    match: Located[str]
    value: Located[str]


class DomainSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A closed set of values with their meanings, and the places that must hold one of them."""

    name: Located[str]
    values: tuple[DomainValue, ...]
    at: tuple[Located[str], ...] = ()
    """Fields of steps, as ``step.field``; of the workflow itself, as ``input.field`` and ``output.field``."""
    translations: tuple[Translation, ...] = ()
    """From the key `from`."""
    synonyms: tuple[Synonyms, ...] = ()
    rules: tuple[MeaningRule, ...] = ()
    aligner: Located[str] | None = None
    """Path of a file, from the folder of this one."""
    threshold: float | None = None
    """Confidence from which the aligner is believed, in [0, 1]; None leaves that to its file."""
    mode: MeaningMode | None = None
    """None where the domain does not say: the contract's own."""


class RewardSpec(msgspec.Struct, frozen=True):
    """One term of the reward."""

    name: Located[str]
    weight: float


class ContractSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A whole contract; what is absent is not checked."""

    source: Source
    span: Span
    input: SchemaSpec | None = None
    output: SchemaSpec | None = None
    sla: tuple[SlaSpec, ...] = ()
    semantics: tuple[DomainSpec, ...] = ()
    semantics_mode: MeaningMode = MeaningMode.ENFORCE
    """Of domains that do not say."""
    reward: tuple[RewardSpec, ...] = ()
