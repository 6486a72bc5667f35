"""Whether a chaos plan names what a workflow has, and could change anything there."""

from collections.abc import Iterable
from typing import Final

import msgspec

from stretto.chaos.domains import Domains
from stretto.chaos.places import is_at
from stretto.chaos.wrong_values import has_wrong_values
from stretto.plan.model import Plan
from stretto.plan.places import Place, places_of
from stretto.spec.chaos_model import ChaosSpec, FaultKind, FaultSpec
from stretto.spec.codes import SpecCode
from stretto.spec.nodes import quote
from stretto.spec.report import Report
from stretto.spec.source import Located, Span
from stretto.spec.suggest import nearest
from stretto.types.card import ANY_ACTION, Card

SHAPED: Final = frozenset({FaultKind.WRONG_TYPE, FaultKind.MISSING_FIELD, FaultKind.WRONG_VALUE})
"""Faults that damage one field of an answer."""

DEAF: Final = frozenset({"aligner", "http", "mcp", "memory", "openai", "policy"})
"""Kinds of component that make nothing of the deadline of a call: over their wires it does not travel."""


def check_places(chaos: ChaosSpec, plan: Plan) -> None:
    """Raise SpecError for every fault that names what the plan does not have, or that could change nothing there."""
    report = Report()
    places, domains = places_of(plan), Domains(plan)
    for fault in chaos.faults:
        found = _found(fault, places, report)
        if found:
            _check_effect(fault, found, plan, domains, report)
    report.raise_if_any()


def _found(fault: FaultSpec, places: tuple[Place, ...], report: Report) -> list[Place]:
    """The places that a fault is about; none, and a problem, when there are none."""
    if fault.component is not None:
        name = fault.component.value
        found = [place for place in places if place.component == name]
        if not found:
            _refuse(fault.component, "component", {place.component for place in places}, report)
    elif fault.step is not None:
        found = [place for place in places if place.step and is_at(_anywhere(fault), "", place.step, "")]
        if not found:
            _refuse(fault.step, "step that calls a component", {place.step for place in places if place.step}, report)
    else:
        found = []
    return _with_action(fault, found, report)


def _anywhere(fault: FaultSpec) -> FaultSpec:
    return msgspec.structs.replace(fault, action=None)


def _with_action(fault: FaultSpec, found: list[Place], report: Report) -> list[Place]:
    if fault.action is None or not found:
        return found
    names = {place.component for place in found if not place.card.action_field}
    if names:
        message = f"`action` is {quote(fault.action.value)}, and '{min(names)}' has one action, without a name"
        problem = fault.action.span.problem(
            SpecCode.NO_EFFECT, message, expected="a component with actions", suggestion="remove it"
        )
        report.add(problem)
        return []
    known = {action for place in found for action in actions_of(place.card)}
    if known and fault.action.value not in known:
        _refuse(fault.action, "action", known, report)
        return []
    return found


def actions_of(card: Card) -> set[str]:
    """The actions that a card knows by name; none when it takes any."""
    named = set(card.effects) - {ANY_ACTION}
    properties = card.input.get("properties")
    field = properties.get(card.action_field) if isinstance(properties, dict) else None
    listed = field.get("enum") if isinstance(field, dict) else None
    return {*named, *(each for each in listed if isinstance(each, str))} if isinstance(listed, list) else named


def _refuse(name: Located[str], what: str, known: Iterable[str], report: Report) -> None:
    there = sorted(known)
    message = f"the workflow has no {what} {quote(name.value)}"
    expected, near = f"one of {', '.join(there)}", nearest(name.value, there) or ""
    report.add(name.span.problem(SpecCode.CHAOS, message, expected=expected, suggestion=near))


def _check_effect(fault: FaultSpec, found: list[Place], plan: Plan, domains: Domains, report: Report) -> None:
    """Report a fault that could change nothing at the places that it is about."""
    if fault.fault in SHAPED:
        _check_field(fault, found, domains, report)
    if fault.fault is FaultKind.CLOCK_SKEW:
        _check_skew(fault, found, plan, report)


def _check_skew(fault: FaultSpec, found: list[Place], plan: Plan, report: Report) -> None:
    if all(place.card.kind in DEAF for place in found):
        why, expected = f"a `{found[0].card.kind}` is not told of it", "a component of yours that reads it"
    elif plan.budget.deadline is None and all(place.op.timeout_s is None for place in found):
        why, expected = "it has none", "a call with a time-out, or a workflow with a deadline"
    else:
        return
    message = f"`clock_skew` changes nothing at {fault.place}: a skewed clock is seen in deadlines, and {why}"
    report.add(fault.span.problem(SpecCode.NO_EFFECT, message, expected=expected, suggestion="remove it"))


def _check_field(fault: FaultSpec, found: list[Place], domains: Domains, report: Report) -> None:
    field = fault.field
    known = {name for place in found for name in fields_of(place.card)}
    if field is not None and known and field.value not in known:
        _refuse(field, "field of the answer", known, report)
        return
    wanted = None if field is None else field.value
    drawn = (has_wrong_values(place.card.output, domains.at(place.step), wanted) for place in found)
    if fault.fault is FaultKind.WRONG_VALUE and not any(drawn):
        span: Span = fault.span if field is None else field.span
        of = f"the answers of {fault.place}" if field is None else f"the field {quote(field.value)}"
        message = f"there is no wrong value to draw for {of}: nothing there is bounded"
        expected = "a field with an enum, a range, a domain of the contract, or true and false"
        report.add(span.problem(SpecCode.NO_EFFECT, message, expected=expected))


def fields_of(card: Card) -> set[str]:
    """The fields of an answer that a card names; none when it takes any."""
    properties = card.output.get("properties")
    return set(properties) if isinstance(properties, dict) else set()
