"""Compile a call: a component, what it is asked, how long and how often, and what answers when it fails."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType
from typing import Final

import orjson

from stretto.plan.breach import Breaches
from stretto.plan.check import Check
from stretto.plan.codes import PlanCode
from stretto.plan.fields import Reader, compile_mapping
from stretto.plan.finding import Finder
from stretto.plan.made_again import MadeAgain, retry_of
from stretto.plan.meaning.meanings import Meanings
from stretto.plan.model import NO_RETRY, CallOp, Fallback
from stretto.plan.names import Names
from stretto.plan.protection import DeclaredProtections
from stretto.plan.valuetype import ValueType, from_schema, mismatch
from stretto.spec.codes import SpecCode
from stretto.spec.contract_model import SlaSpec
from stretto.spec.durations import seconds
from stretto.spec.model import StepSpec
from stretto.spec.source import Located
from stretto.types.card import ANY_OBJECT, CHOOSES, Card
from stretto.types.enums import Estimator, Scope
from stretto.types.json import Schema
from stretto.types.protocols import Component

NOTHING: Final[Mapping[str, SlaSpec]] = MappingProxyType({})


class Calls:
    """Compiles the calls of one workflow and remembers the components that they reach."""

    def __init__(
        self,
        reader: Reader,
        finder: Finder,
        sla: Mapping[str, SlaSpec] = NOTHING,
        meanings: Meanings | None = None,
    ) -> None:
        """`sla` is what the contract promises, by step."""
        self.components: dict[str, Component] = {}
        """By the name that the record uses."""
        self.protections = DeclaredProtections(reader.report)
        self.sla = sla
        self.meanings = Meanings(reader=reader) if meanings is None else meanings
        self._reader = reader
        self._finder = finder
        self._breaches = Breaches(reader, sla, self.meanings)

    def of_step(self, step: StepSpec, component: Component, slot: int, names: Names) -> CallOp:
        """The call that a step makes."""
        card = component.card
        whose = f"component '{card.name}'"
        meant = self.meanings.into(step)
        mapped = compile_mapping(
            self._reader, step.input_mapping or (), names, card.input, step.name.span, whose, meant=meant
        )
        resilience = step.resilience
        plain = self.plain(component, step.name.value, slot)
        self.protections.declare(card, step)
        again = MadeAgain(self._reader, card)
        when = None if resilience.retry is None else resilience.retry.when
        rejects = None if when is None else again.condition(when)
        if resilience.hedge is not None:
            again.hold_hedge(resilience.hedge.span)
        fallback = self._fallback(step, card, mapped.type, slot)
        breach, breach_reads, breach_resources = self._breaches.fallback(step, card, slot, names)
        return replace(
            plain,
            inputs=mapped.getters,
            input_check=None if mapped.proven else plain.input_check,
            reads=mapped.slots | breach_reads,
            resources=mapped.resources | breach_resources,
            timeout_s=seconds(resilience.timeout or self._longest(step)),
            retry=NO_RETRY if resilience.retry is None else retry_of(resilience.retry),
            rejects=None if rejects is None else rejects.get,
            rejects_source="" if when is None else when.value,
            hedge=None if resilience.hedge is None else resilience.hedge.value,
            priority=0 if resilience.bulkhead is None else resilience.bulkhead.value.priority,
            fallback=fallback or breach,
            crossings_in=self.meanings.settle(meant),
            crossings_out=self.meanings.out_of(step),
            estimate_tokens=step.estimate.tokens,
            estimate_cost=step.estimate.cost,
            share=step.share,
            estimator=self._estimator(step, card),
        )

    def _estimator(self, step: StepSpec, card: Card) -> Estimator | None:
        """How a gradient passes the step; reported where it says so of what the component does not do."""
        is_module = card.kind == "torch"
        asked = step.estimator
        if asked is Estimator.SURROGATE:
            why, expected = (
                f"gradients pass '{card.name}' as it is",
                "`surrogate` on a step whose component is no module",
            )
            has_effect = not is_module
        else:
            why = f"'{card.name}' makes no choice that a gradient reaches"
            expected = "`estimator` on the step of a component of kind torch that `chooses`"
            has_effect = asked is None or (is_module and CHOOSES in card.capabilities)
        if not has_effect:
            self._reader.report.add(
                step.name.span.problem(
                    SpecCode.NO_EFFECT,
                    f"`estimator` has no effect: {why}",
                    expected=expected,
                    suggestion="remove `estimator`",
                )
            )
        return asked

    def _longest(self, step: StepSpec) -> timedelta | None:
        """How long the contract lets a call take: the time-out of a step that has none of its own."""
        sla = self.sla.get(step.name.value)
        return None if sla is None else sla.max_latency

    def plain(self, component: Component, name: str, slot: int) -> CallOp:
        """A call of a component with nothing mapped: checked in full at run time."""
        card = component.card
        self.components[card.name] = component
        return CallOp(
            name=name,
            slot=slot,
            component=component,
            component_name=card.name,
            inputs=(),
            input_check=_check(card.input),
            output_check=_check(card.output),
            action_field=card.action_field,
            effect=card.effect_of(""),
            per_run=card.scope is Scope.RUN,
            sees_reference=card.kind == "reward",
            calls_others="call" in card.capabilities,
        )

    def _fallback(self, step: StepSpec, card: Card, built: ValueType, slot: int) -> Fallback | None:
        spec = step.resilience.fallback
        if spec is None:
            return None
        if spec.component is not None:
            component = self._finder.component(spec.component)
            if component is None:
                return None
            self._check_stand_in(spec.component, component.card, card, built)
            self.meanings.note_null(step, spec.component, from_schema(component.card.input))
            plain = self.plain(component, "fallback", slot)
            return Fallback(op=replace(plain, crossings_out=self.meanings.out_of(step)))
        if spec.output is None:
            return None
        violations = Check(card.output).violations(spec.output.value)
        for violation in violations:
            self._reader.report.add(
                spec.output.span.problem(
                    PlanCode.FALLBACK,
                    f"this output cannot stand for the output of '{card.name}': {violation}",
                    expected=f"a value of the output schema of '{card.name}'",
                )
            )
        self.meanings.check_stand_in(step, spec.output)
        return Fallback(output=orjson.dumps(spec.output.value))

    def _check_stand_in(self, place: Located[str], stand_in: Card, card: Card, built: ValueType) -> None:
        """A fallback component is asked what the step was asked, and must answer in its form."""
        asked = mismatch(built, from_schema(stand_in.input))
        answered = mismatch(from_schema(stand_in.output), from_schema(card.output))
        for what, reason in (("be asked the same", asked), ("answer in the same form", answered)):
            if reason is not None:
                self._reader.report.add(
                    place.span.problem(
                        PlanCode.FALLBACK,
                        f"'{stand_in.name}' cannot stand in for '{card.name}': it cannot {what}: {reason}",
                        expected=f"a component with the schemas of '{card.name}'",
                    )
                )


def _check(schema: Schema) -> Check | None:
    return None if schema == ANY_OBJECT else Check(schema)
