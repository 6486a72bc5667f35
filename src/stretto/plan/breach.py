"""What a contract's `on_breach` puts in the place of a step that broke its promise: a value that is there already."""

import re
from collections.abc import Mapping
from typing import Final

from stretto.plan.codes import PlanCode
from stretto.plan.fields import Read, Reader
from stretto.plan.meaning.meanings import Meanings
from stretto.plan.model import NO_RESOURCES, Fallback, Frame, Getter, Resources
from stretto.plan.names import Names
from stretto.plan.valuetype import Kind, ValueType, from_schema, mismatch, object_of
from stretto.spec.codes import SpecCode
from stretto.spec.contract_model import BreachSpec, SlaSpec
from stretto.spec.model import StepSpec
from stretto.spec.source import Located
from stretto.types.card import Card
from stretto.types.json import Json

_NOTHING: Final[tuple[None, frozenset[int], Resources]] = (None, frozenset(), NO_RESOURCES)


def is_left_out(sla: SlaSpec | None) -> bool:
    """Whether nothing stands in for a step that breaks its promise: what reads it reads null then."""
    return sla is not None and sla.on_breach is not None and sla.on_breach.skip and sla.on_breach.use is None


class Breaches:
    """Compiles what stands in for the steps of one workflow."""

    def __init__(self, reader: Reader, sla: Mapping[str, SlaSpec], meanings: Meanings) -> None:
        self._reader = reader
        self._sla = sla
        self._meanings = meanings

    def fallback(
        self, step: StepSpec, card: Card, slot: int, names: Names
    ) -> tuple[Fallback | None, frozenset[int], Resources]:
        """What stands in for a step, the slots that it reads, and what of `resources`; None where the contract says
        nothing of it."""
        sla = self._sla.get(step.name.value)
        breach = None if sla is None else sla.on_breach
        if sla is None or breach is None or not (breach.skip or breach.use):
            return _NOTHING
        if step.resilience.fallback is not None:
            self._reader.report.add(
                sla.target.span.problem(
                    SpecCode.CONFLICT,
                    f"step '{step.name.value}' has a `fallback` already, and the contract's `on_breach` is another",
                    expected="one of the two",
                    suggestion="take `fallback` out of the step, or `on_breach` out of the contract",
                )
            )
            return _NOTHING
        if breach.use is None:
            return Fallback(output=b"null"), frozenset(), NO_RESOURCES
        return self._value(breach.use, step, card, slot, names)

    def _value(
        self, use: Located[str], step: StepSpec, card: Card, slot: int, names: Names
    ) -> tuple[Fallback | None, frozenset[int], Resources]:
        head = re.split(r"[.\[]", use.value, maxsplit=1)[0]
        text = use if head in names.roots() else Located(f"steps.{use.value}", use.span)
        read = self._reader.expression(text, names)
        if read is None:
            return _NOTHING
        if slot in read.slots or not read.path:
            self._reader.report.add(
                use.span.problem(
                    PlanCode.FALLBACK,
                    f"`{use.value}` cannot stand in for step '{step.name.value}': it is "
                    + ("read from that step itself" if slot in read.slots else "no path"),
                    expected="a path to what another step gave: planner.default_reply",
                )
            )
            return _NOTHING
        field = self._field(use, read, step, card)
        crossings = self._meanings.left_of(self._meanings.into_place_of(step, read, field))
        return Fallback(get=_getter(read.get, field), source=use.value, crossings=crossings), read.slots, read.resources

    def _field(self, use: Located[str], read: Read, step: StepSpec, card: Card) -> str:
        """The only field of the step's output, when the value is to stand there; empty when it is the whole output.

        What belongs to a domain is held against the schema as it is once it has crossed.
        """
        target = from_schema(card.output)
        only = _only_field(target)
        if only and read.type.kind not in (Kind.OBJECT, Kind.DYN):
            as_field = self._meanings.of_output(step, object_of({only: read.type}))
            if mismatch(as_field.fields[only], target.fields[only]) is None:
                return only
        reason = mismatch(self._meanings.of_output(step, read.type), target)
        if reason is not None:
            self._reader.report.add(
                use.span.problem(
                    PlanCode.FALLBACK,
                    f"the value at `{use.value}` cannot stand for the output of '{card.name}': {reason}",
                    expected=f"a value of the output schema of '{card.name}'"
                    + (f", or of its only field '{only}'" if only else ""),
                )
            )
        return "" if read.type.kind is Kind.OBJECT else only


def check_breach(sla: SlaSpec, step: StepSpec | None, reader: Reader) -> None:
    """Report an `on_breach` that could never act: of the workflow, or of a step that calls nothing itself."""
    breach: BreachSpec | None = sla.on_breach
    if breach is None or (step is not None and step.component is not None):
        return
    whose = "the workflow" if step is None else f"step '{step.name.value}', which calls no component itself"
    reader.report.add(
        sla.target.span.problem(
            SpecCode.NO_EFFECT,
            f"`on_breach` has no effect on {whose}",
            expected="`on_breach` of steps with a component",
            suggestion="move it to the steps inside" if step is not None else "move it to a step",
        )
    )


def _only_field(kind: ValueType) -> str:
    if kind.kind is not Kind.OBJECT or len(kind.fields) != 1:
        return ""
    return next(iter(kind.fields))


def _getter(read: Getter, field: str) -> Getter:
    """Reads the value as the step's output: an object as it is, anything else as the output's only field."""
    if not field:
        return read

    def get(frame: Frame) -> Json:
        value = read(frame)
        return value if value is None or isinstance(value, dict) else {field: value}

    return get
