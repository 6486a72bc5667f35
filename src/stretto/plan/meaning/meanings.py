"""The domains of one workflow while it is compiled: which hold where, and every mapping compared with them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from stretto.plan.codes import PlanCode
from stretto.plan.fields import Read, Reader
from stretto.plan.finding import Finder
from stretto.plan.meaning.compare import Comparison, Target, check_output
from stretto.plan.meaning.crossing import Crossing, Held, Side, exact_of
from stretto.plan.meaning.domain import Domain, compile_domain
from stretto.plan.meaning.ends import take_input, take_output
from stretto.plan.meaning.marks import domains_in, held, leaf_of, renamed, with_null
from stretto.plan.meaning.places import Place, Places, Sides
from stretto.plan.meaning.unsure import note_unsure
from stretto.plan.model import Frame, Plan
from stretto.plan.valuetype import DYN, Kind, Missing, ValueType, at, may_be_null
from stretto.spec.contract_model import ContractSpec, DomainSpec
from stretto.spec.model import StepSpec
from stretto.spec.source import Located
from stretto.types.json import Json, JsonObject
from stretto.types.meaning import AlignerComponent, MeaningMode

_SOME: Final = frozenset({0})
"""Slots of what no mapping reads, and what is no constant either."""

FindAligner: TypeAlias = Callable[[DomainSpec], AlignerComponent | None]
"""Finds the aligner that a domain names; None after reporting why there is none."""


@dataclass(slots=True, kw_only=True)
class Meanings:
    """Domains, places and comparisons. Of a workflow whose contract has no domain: nothing, and nothing is asked."""

    reader: Reader
    domains: dict[str, Domain] = field(default_factory=dict)
    aligners: list[tuple[Located[str], AlignerComponent]] = field(default_factory=list)
    """Each with the place where its file is named."""
    places: Places | None = None
    held: list[Held] = field(default_factory=list)
    compared: int = 0
    """Mappings of values into a domain, whatever came of it."""

    # types

    def of_output(self, step: StepSpec, kind: ValueType) -> ValueType:
        """The type of what a step gives, once it has crossed."""
        places = self.places.of(step).gives if self.places is not None else ()
        return _held_at(kind, places)

    def of_input(self, kind: ValueType) -> ValueType:
        """The type of the workflow's input; places that it has not are reported."""
        if self.places is not None:
            take_input(self.places, kind, self.reader.report)
        places = self.places.own.given if self.places is not None else ()
        if places and kind.kind is Kind.DYN:
            kind = ValueType(kind=Kind.OBJECT, rest=DYN)
        return _held_at(kind, places)

    def of_refused_input(self, kind: ValueType) -> ValueType:
        """The type of the input as the workflow's fallback reads it: null is there too, where a text means nothing."""
        for place in self.places.own.given if self.places is not None else ():
            if place.domain.is_closed:
                kind = with_null(kind, place.path)
        return kind

    def of_sub(self, plan: Plan) -> ValueType:
        """The type of a sub-workflow's output, its domains those of this contract that have the same values."""
        kind = plan.output_type
        return renamed(kind, lambda name: self._is_same(name, plan)) if plan.domains else kind

    def _is_same(self, name: str, plan: Plan) -> bool:
        own = self.domains.get(name)
        return own is not None and set(own.values) == set(plan.domains[name].values)

    # crossings

    def into(self, step: StepSpec, plan: Plan | None = None) -> Comparison | None:
        """What compares a step's mapping, that of a sub-workflow with the domains of its own contract too."""
        targets = [self._target(place) for place in self._sides(step).given]
        for crossing in () if plan is None else plan.crossings_in:
            name = f"{step.name.value}.{'.'.join(crossing.path)}"
            told = f"by the contract of '{plan.name}'" if plan is not None else ""
            known = {} if plan is None else plan.domains
            targets.append(Target(at=name, path=crossing.path, domain=crossing.domain, known=known, declared=told))
        return self._comparison(targets)

    def into_output(self) -> Comparison | None:
        """What compares the mapping of the workflow's output."""
        return self._comparison([] if self.places is None else [self._target(each) for each in self.places.own.gives])

    def settle(self, comparison: Comparison | None, side: Side = Side.GIVEN) -> tuple[Crossing, ...]:
        """What is left of a comparison for the run."""
        return self._holding(self.left_of(comparison), side)

    def left_of(self, comparison: Comparison | None) -> tuple[Crossing, ...]:
        """The same for what stands in where a place is held already."""
        if comparison is None:
            return ()
        self.compared += comparison.compared
        return tuple(comparison.found)

    def out_of(self, step: StepSpec) -> tuple[Crossing, ...]:
        """The crossings of what a component answers: it says nothing of other domains."""
        return self._holding([_own(place) for place in self._sides(step).gives], Side.GIVES)

    def out_of_sub(self, step: StepSpec, plan: Plan) -> tuple[Crossing, ...]:
        """The crossings of what a sub-workflow gives, whose own contract may say which domain that is from."""
        span = step.name.span if step.workflow is None else step.workflow.span
        for name in sorted(domains_in(plan.output_type)):
            if name in self.domains and not self._is_same(name, plan):
                self.reader.report.add(
                    span.problem(
                        PlanCode.MEANING,
                        f"the domain '{name}' has other values in workflow '{plan.name}', which gives some of them",
                        expected="one name for one set of values",
                        suggestion=f"the same values in both contracts, or another name for one of the two '{name}'",
                    )
                )
        whole = Read(get=_nothing, type=self.of_sub(plan), slots=_SOME, span=span, path=f"steps.{step.name.value}")
        return self.settle(self.into_place_of(step, whole), Side.GIVES)

    def into_place_of(self, step: StepSpec, read: Read, only: str = "") -> Comparison | None:
        """What was compared of an object that stands as a step's output, or of a value as its only field."""
        return _compared(self._comparison([self._target(place) for place in self._sides(step).gives]), read, only)

    def into_answer(self, component: Located[str], kind: ValueType) -> Comparison | None:
        """What was compared of a component's answer that stands as the workflow's output."""
        return _compared(
            self.into_output(), Read(get=_nothing, type=kind, slots=_SOME, span=component.span, path="answer")
        )

    def of_inner_call(self, component: str) -> tuple[tuple[Crossing, ...], tuple[Crossing, ...]]:
        """The crossings of calls of a component that others make: into it, and out of it. Nothing says where the
        values come from, so that a translation is exact."""
        sides = Sides() if self.places is None else self.places.inside.get(component, Sides())
        given = [replace(_own(place), exact=exact_of(place.domain, frozenset())) for place in sides.given]
        gives = [_own(place) for place in sides.gives]
        return self._holding(given, Side.GIVEN), self._holding(gives, Side.GIVES)

    def refuse_inner_calls(self) -> None:
        """Report places of components where no component calls another, and no step has that name."""
        if self.places is None:
            return
        for name, sides in self.places.inside.items():
            places = () if self.places.is_step(name) else (*sides.given, *sides.gives)
            for place in {place.at: place for place in places}.values():
                self.reader.report.add(
                    place.at.span.problem(
                        PlanCode.MEANING,
                        f"the domain '{place.domain.name}' holds at `{place.at.value}`, and '{name}' is no step, but "
                        "a component that no other calls",
                        expected="the name of a step, and a field of it",
                    )
                )

    def of_own_input(self) -> tuple[Crossing, ...]:
        """The crossings of the workflow's input."""
        places = () if self.places is None else self.places.own.given
        return self._holding([_own(place) for place in places], Side.GIVEN)

    def check_stand_in(self, step: StepSpec, output: Located[JsonObject]) -> None:
        """Hold a fixed output that stands for a step's to its domains."""
        check_output(output, tuple(self._target(place) for place in self._sides(step).gives), self.reader)

    def note_null(self, step: StepSpec, stand_in: Located[str], takes: ValueType) -> None:
        """Say where a fallback component cannot be asked: what means nothing is null in its request."""
        for place in self._sides(step).given:
            leaf = leaf_of(takes, place.path)
            if place.domain.is_closed and leaf is not None and leaf.kind is not Kind.DYN and not may_be_null(leaf):
                self.reader.note(
                    stand_in.span,
                    f"'{stand_in.value}' takes no null for '{'.'.join(place.path)}', and is asked with null where a "
                    f"text means no value of the domain '{place.domain.name}': the step then fails",
                )

    def check_output(self, fields: Sequence[str]) -> None:
        """Report places of the workflow's output that are none of the fields it is mapped from."""
        if self.places is not None:
            take_output(self.places, fields, self.reader.report)

    def note_unsure(self) -> None:
        """Say which places nothing speaks of, once every expression was read."""
        if self.places is not None:
            note_unsure(self.places.unsure, self.places.steps(), self.reader)

    def check_held(self, contract: ContractSpec) -> None:
        """Report domains of which nothing is ever held: a check that finds nothing to check fails."""
        if self.domains and not self.held and not self.reader.report:
            first = contract.semantics[0].name
            self.reader.report.add(
                first.span.problem(
                    PlanCode.MEANING,
                    "no value ever crosses into a domain of this contract, so nothing would be checked",
                    expected="`at` with fields that a step gives, or that its mapping feeds",
                )
            )

    def _holding(self, crossings: Sequence[Crossing], side: Side) -> tuple[Crossing, ...]:
        self.held += [Held(at=each.at, domain=each.domain, side=side) for each in crossings]
        return tuple(crossings)

    def _sides(self, step: StepSpec) -> Sides:
        return Sides() if self.places is None else self.places.of(step)

    def _comparison(self, targets: Sequence[Target]) -> Comparison | None:
        if not targets:
            return None
        return Comparison(reader=self.reader, targets=tuple(targets), domains=self.domains)

    def _target(self, place: Place) -> Target:
        mark = place.at.span.mark
        return Target(
            at=place.at.value,
            path=place.path,
            domain=place.domain,
            known=self.domains,
            declared=f"{mark.file}:{mark.line}",
        )


def compile_meanings(
    contract: ContractSpec | None, steps: Sequence[StepSpec], finder: Finder, reader: Reader, find_aligner: FindAligner
) -> Meanings:
    """Compile a contract's domains, and find the places where they hold. One that is off holds nowhere."""
    meanings = Meanings(reader=reader)
    if contract is None or not contract.semantics:
        return meanings
    meanings.places = Places(steps, finder, reader.report)
    for spec in contract.semantics:
        if (spec.mode or contract.semantics_mode) is MeaningMode.OFF:
            continue
        aligner = None if spec.aligner is None else find_aligner(spec)
        domain = compile_domain(spec, contract.semantics_mode, aligner)
        meanings.domains[domain.name] = domain
        if spec.aligner is not None and aligner is not None:
            meanings.aligners.append((spec.aligner, aligner))
        for place in spec.at:
            meanings.places.find(place, domain)
    return meanings


def _compared(comparison: Comparison | None, read: Read, only: str = "") -> Comparison | None:
    for name in () if comparison is None else dict.fromkeys(target.path[0] for target in comparison.targets):
        kind = read.type if name == only else at(read.type, name)
        if comparison is not None and not isinstance(kind, Missing):
            path = read.path if not read.path or name == only else f"{read.path}.{name}"
            comparison.crossed(name, replace(read, type=kind, path=path))
    return comparison


def _own(place: Place) -> Crossing:
    domain = place.domain
    exact = exact_of(domain, frozenset({domain.name}))
    return Crossing(at=place.at.value, path=place.path, domain=domain, exact=exact)


def _held_at(kind: ValueType, places: Sequence[Place]) -> ValueType:
    for place in places:
        kind = held(kind, place.path, place.domain)
    return kind


def _nothing(_frame: Frame) -> Json:
    return None
