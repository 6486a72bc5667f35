"""Steps read from text, components made of schemas, and the compiler's parts put together as the compiler does it."""

from collections.abc import Iterable, Mapping, Sequence
from textwrap import dedent, indent
from typing import Any

from stretto.plan.blocks import Blocks
from stretto.plan.calls import Calls
from stretto.plan.fields import Reader
from stretto.plan.finding import Finder
from stretto.plan.model import AnyOp, Block, LoopOp, MapOp, Plan
from stretto.plan.names import Names, given_names
from stretto.plan.slots import Slots
from stretto.plan.valuetype import DYN, from_schema
from stretto.spec.model import StepSpec
from stretto.spec.report import Report
from stretto.spec.source import Located, Source, Span
from stretto.spec.workflow import parse_workflow
from stretto.types.card import ANY_OBJECT
from stretto.types.errors import Problem, SpecError
from stretto.types.json import Schema
from stretto.types.messages import Request
from stretto.types.protocols import Component
from tests.unit.engine.plans import Probe


def steps_of(text: str) -> tuple[StepSpec, ...]:
    """The steps of a workflow, from what stands under ``steps:``."""
    return parse_workflow("steps:\n" + indent(dedent(text), "  ")).steps


def step_of(text: str) -> StepSpec:
    """One step, from its keys."""
    return steps_of(f"- {{{text}}}")[0]


def located(text: str) -> Located[str]:
    """A text that stands in a file of its own."""
    return Located(text, Span(Source("w.yaml", text), 0, len(text)))


def fields(**types: str) -> Schema:
    """The schema of an object with exactly these fields."""
    properties: Any = {name: {"type": kind} for name, kind in types.items()}
    return {"type": "object", "properties": properties, "required": [*types], "additionalProperties": False}


def component(name: str, takes: Schema = ANY_OBJECT, gives: Schema = ANY_OBJECT, **card: Any) -> Probe:
    """A component with these schemas, which is never called."""

    async def answer(_request: Request) -> object:
        raise AssertionError("nothing is called at compile time")

    return Probe(name, answer, input=takes, output=gives, **card)


class Shelf:
    """A catalog of these components."""

    def __init__(self, components: Iterable[Probe]) -> None:
        self._components = {each.card.name: each for each in components}

    def find(self, name: str) -> Component | None:
        return self._components.get(name)

    def names(self) -> Iterable[str]:
        return self._components


def found_in(report: Report) -> tuple[Problem, ...]:
    """The problems of a report, in the order of the file."""
    try:
        report.raise_if_any()
    except SpecError as error:
        return error.problems
    return ()


class Bench:
    """One compilation, part by part."""

    def __init__(
        self, *components: Probe, takes: Schema | None = None, workflows: Mapping[str, Plan] | None = None
    ) -> None:
        plans = workflows or {}
        self.report = Report()
        self.reader = Reader(self.report)
        self.finder = Finder(Shelf(components), self.report, lambda place: plans.get(place.value))
        self.calls = Calls(self.reader, self.finder)
        self.slots = Slots()
        self.blocks = Blocks(self.report, self.reader, self.finder, self.calls, self.slots)
        self.names = given_names(DYN if takes is None else from_schema(takes), DYN, DYN)

    @property
    def problems(self) -> tuple[Problem, ...]:
        return found_in(self.report)

    @property
    def codes(self) -> list[str]:
        return [problem.code for problem in self.problems]

    def block(self, text: str) -> Block:
        """Compile the steps that stand under ``steps:``."""
        return self.blocks.compile(steps_of(text), self.names)


def read(names: Names, path: str, frame: Mapping[int, object]) -> object:
    """What a path of field names reads in a frame with these values in its slots."""
    slots: list[object] = [frame.get(slot) for slot in range(max(frame, default=0) + 1)]
    return names.lookup(path.split(".")).get(slots)


def inside(ops: Sequence[AnyOp]) -> list[AnyOp]:
    """Operations, and those of the bodies inside them."""
    every: list[AnyOp] = []
    for op in ops:
        every.append(op)
        if isinstance(op, LoopOp | MapOp):
            every += inside(op.body.ops)
    return every
