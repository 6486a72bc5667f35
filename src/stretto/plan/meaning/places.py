"""Where domains hold: each place that a contract names, found at the steps and at the workflow's own ends."""

from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace

from stretto.plan.codes import PlanCode
from stretto.plan.finding import Finder
from stretto.plan.meaning.domain import Domain
from stretto.plan.meaning.marks import TEXTS, is_declared, leaf_of
from stretto.plan.meaning.unsure import Unsure
from stretto.plan.valuetype import NULL, ValueType, from_schema, render
from stretto.spec.model import StepSpec, steps_in
from stretto.spec.report import Report
from stretto.spec.source import Located
from stretto.spec.suggest import nearest, quoted

INPUT, OUTPUT = "input", "output"
"""Heads of places at the workflow's own ends, where no step has such a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One place that a domain names."""

    at: Located[str]
    path: tuple[str, ...]
    """Below the step's request or output."""
    domain: Domain


@dataclass(slots=True)
class Sides:
    """The places of a step, or of the workflow: in what it is given, and in what it gives."""

    given: list[Place] = field(default_factory=list)
    gives: list[Place] = field(default_factory=list)


class Places:
    """Every place of a contract, by the name of the step as it stands in the file."""

    def __init__(self, steps: Sequence[StepSpec], finder: Finder, report: Report) -> None:
        self.own = Sides()
        self.inside: dict[str, Sides] = {}
        """Of components, in the calls of them that other components make."""
        self.unsure: list[Unsure] = []
        """Those that no schema names."""
        self._of: dict[Located[str], Sides] = {}
        self._steps: dict[str, list[StepSpec]] = {}
        for step in steps_in(steps):
            self._steps.setdefault(step.name.value, []).append(step)
        self._finder = finder
        self._report = report

    def of(self, step: StepSpec) -> Sides:
        """The places of a step; none for most."""
        return self._of.get(step.name) or Sides()

    def steps(self) -> list[StepSpec]:
        """Every step, those inside others too."""
        return [step for steps in self._steps.values() for step in steps]

    def is_step(self, name: str) -> bool:
        """Whether a step has the name."""
        return name in self._steps

    def find(self, at: Located[str], domain: Domain) -> None:
        """Find one place, and report what is not there."""
        head, *path = at.value.split(".")
        place = Place(at=at, path=tuple(path), domain=domain)
        if head in self._steps:
            for step in self._steps[head]:
                self._find_at(step, place)
            self._find_inside(place, head)
        elif head == INPUT:
            self.own.given.append(place)
        elif head == OUTPUT:
            self.own.gives.append(place)
        elif not self._find_inside(place, head, is_meant=True):
            known = [*self._steps, INPUT, OUTPUT]
            near = nearest(head, known)
            self._report.add(
                at.span.problem(
                    PlanCode.UNKNOWN_STEP,
                    f"the domain '{domain.name}' holds at `{at.value}`, and there is no step or component '{head}'",
                    expected=f"one of {', '.join(known)}, and a field of it",
                    suggestion=f"{near}.{'.'.join(path)}" if near else "",
                )
            )

    def _find_at(self, step: StepSpec, place: Place) -> None:
        types = self._types(step)
        if types is None:
            return
        mapped = {mapping.field.value for mapping in step.input_mapping or ()}
        sides = self._of.setdefault(step.name, Sides())
        whose = f"step '{step.name.value}'"
        inner = [each.name.value for each in step.inside]
        self._take(place, sides, types, whose, mapped, inner, f"steps.{step.name.value}")

    def _find_inside(self, place: Place, name: str, *, is_meant: bool = False) -> bool:
        """Find a place in the calls of a component that others make; where a step has that name, only if it has it."""
        component = self._finder.catalog.find(name)
        if component is None:
            return False
        types = given, gives = from_schema(component.card.input), from_schema(component.card.output)
        _, below = _side_of(place, given, gives)
        if is_meant or is_declared(given, below.path) or is_declared(gives, below.path):
            self._take(place, self.inside.setdefault(name, Sides()), types, f"component '{name}'")
        return True

    def _take(
        self,
        place: Place,
        sides: Sides,
        types: tuple[ValueType, ValueType],
        whose: str,
        mapped: Set[str] = frozenset(),
        inner: Sequence[str] = (),
        head: str = "",
    ) -> None:
        """Put a place on the sides where it is; `inner` are the steps inside a step that makes no call itself, `head`
        is where paths read what it gives."""
        given, gives = types
        side, place = _side_of(place, given, gives)
        given, gives = (NULL if side == OUTPUT else given), (NULL if side == INPUT else gives)
        is_given, is_given_by = is_declared(given, place.path), is_declared(gives, place.path)
        if not is_given and not is_given_by:  # schemas that leave room: what is mapped is meant, else what is answered
            is_given = place.path[0] in mapped and leaf_of(given, place.path) is not None
            is_given_by = not is_given and leaf_of(gives, place.path) is not None
            if is_given_by:
                self.unsure.append(unsure(whose, place, head, given, gives))
        if not is_given and not is_given_by:
            self._refuse_field(whose, place, given, gives, inner)
        if is_given and self._takes_text(whose, place, given):
            self._check_takes(whose, place, given)
            self._put(place, sides.given, whose)
        if is_given_by and self._takes_text(whose, place, gives):
            self._check_gives(whose, place, gives)
            self._put(place, sides.gives, whose)

    def _put(self, place: Place, on: list[Place], whose: str) -> None:
        """Put a place on a side, once: it has one domain however it is named."""
        first = next((each for each in on if each.path == place.path), None)
        if first is None:
            on.append(place)
            return
        self._report.add(
            place.at.span.problem(
                PlanCode.MEANING,
                f"`{place.at.value}` is the field '{'.'.join(place.path)}' of {whose}, which is a place of the domain "
                f"'{first.domain.name}' as `{first.at.value}` already (line {first.at.span.mark.line})",
                expected="each place in one domain, once",
            )
        )

    def _types(self, step: StepSpec) -> tuple[ValueType, ValueType] | None:
        """What a step's call takes and gives; None after reporting that it makes none, or where it has no component."""
        if step.component is not None:
            component = self._finder.catalog.find(step.component.value)  # one that is not there is told at the step
            return (
                None if component is None else (from_schema(component.card.input), from_schema(component.card.output))
            )
        if step.workflow is not None:
            plan = self._finder.plan(step.workflow)
            return None if plan is None else (from_schema(plan.input_schema), plan.output_type)
        return NULL, NULL  # a loop or a map over steps: it is asked nothing

    def _refuse_field(self, whose: str, place: Place, given: ValueType, gives: ValueType, inner: Sequence[str]) -> None:
        name, head = ".".join(place.path), place.at.value.split(".")[0]
        known = sorted({*given.fields, *gives.fields})
        near = nearest(place.path[0], known)
        expected = f"a field that it takes or gives: {', '.join(known)}" if known else "a field that it takes or gives"
        if inner:
            expected = f"a field of a step inside it: {', '.join(inner)}"
        self._report.add(
            place.at.span.problem(
                PlanCode.MEANING,
                f"the domain '{place.domain.name}' holds at `{place.at.value}`, and {whose} neither takes nor gives "
                f"'{name}'",
                expected=expected,
                suggestion=f"{head}.{near}" if near and not inner else "",
            )
        )

    def _takes_text(self, whose: str, place: Place, kind: ValueType) -> bool:
        leaf = leaf_of(kind, place.path)
        if leaf is None or leaf.kind in TEXTS:
            return True
        self._report.add(
            place.at.span.problem(
                PlanCode.MEANING,
                f"the domain '{place.domain.name}' holds at `{place.at.value}`, and '{'.'.join(place.path)}' of "
                f"{whose} is {render(leaf)}",
                expected="a field of text, or of a list of texts",
            )
        )
        return False

    def _check_takes(self, whose: str, place: Place, kind: ValueType) -> None:
        """A request's field must take every value of the domain."""
        leaf = leaf_of(kind, place.path)
        if leaf is None or not leaf.values:
            return
        refused = [value for value in place.domain.values if value not in leaf.values]
        if refused:
            what = f"takes only {quoted(leaf.values)}, and {quoted(refused)} may come of the domain"
            self._refuse_values(whose, place, what, "a domain whose values it all takes")

    def _check_gives(self, whose: str, place: Place, kind: ValueType) -> None:
        """What an output's field may say must be in the domain, or be aligned to it."""
        leaf = leaf_of(kind, place.path)
        if leaf is None or place.domain.aligner is not None:
            return
        unknown = [value for value in leaf.values if place.domain.declared(value) is None]
        if unknown:
            what = f"may say {quoted(unknown)}, which means no value of the domain"
            self._refuse_values(whose, place, what, f"one of {quoted(place.domain.values)}")

    def _refuse_values(self, whose: str, place: Place, what: str, expected: str) -> None:
        name = ".".join(place.path)
        self._report.add(
            place.at.span.problem(
                PlanCode.MEANING,
                f"by its component's schema '{name}' of {whose} {what} '{place.domain.name}'",
                expected=expected,
                suggestion="the same values in both, or `synonyms` for those that differ",
            )
        )


def unsure(whose: str, place: Place, head: str, *types: ValueType) -> Unsure:
    """A place that types of its side leave room for; `head` is where paths read what stands there."""
    declared = frozenset(name for kind in types for name in kind.fields)
    return Unsure(at=place.at, name=place.path[-1], domain=place.domain, whose=whose, head=head, declared=declared)


def _side_of(place: Place, given: ValueType, gives: ValueType) -> tuple[str, Place]:
    """The side that a place names, ``planner.output.text``, and the place below it; no side where it names none."""
    head, *below = place.path
    if head not in (INPUT, OUTPUT) or not below or is_declared(given, (head,)) or is_declared(gives, (head,)):
        return "", place
    return head, replace(place, path=tuple(below))
