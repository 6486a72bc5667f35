"""Compile blocks: declare every step, compile each against those names, order them by what is read.

Bodies of loops and maps are blocks inside, with names of their own.
"""

from collections.abc import Sequence
from dataclasses import replace

from stretto.plan.breach import is_left_out
from stretto.plan.calls import Calls
from stretto.plan.codes import PlanCode
from stretto.plan.declare import Carried, Declarations
from stretto.plan.expr import path_getter
from stretto.plan.expr.access import reads_object
from stretto.plan.fields import Read, Reader, compile_mapping
from stretto.plan.finding import Finder
from stretto.plan.flow import Writers, block_of, declared_order
from stretto.plan.model import NO_RESOURCES, AnyOp, Block, Carry, Getter, LoopOp, MapOp, Plan, SubOp
from stretto.plan.names import Binding, Names
from stretto.plan.outputs import OutputTypes
from stretto.plan.slots import Slots
from stretto.plan.valuetype import BOOL, DYN, INT, Kind, ValueType, join, render
from stretto.spec.codes import SpecCode
from stretto.spec.model import (
    DEFAULT_MAX_PARALLEL,
    EstimateSpec,
    ForEachSpec,
    OnItemError,
    RepeatSpec,
    ResilienceSpec,
    StepSpec,
)
from stretto.spec.report import Report
from stretto.spec.source import Located


class Blocks:
    """Compiles the blocks of one workflow."""

    def __init__(self, report: Report, reader: Reader, finder: Finder, calls: Calls, slots: Slots) -> None:
        self._report = report
        self._reader = reader
        self._finder = finder
        self._calls = calls
        self._slots = slots
        self._meanings = calls.meanings
        self._outputs = OutputTypes(finder, calls.meanings)
        left_out = frozenset(name for name, promised in calls.sla.items() if is_left_out(promised))
        self._declarations = Declarations(report, reader, self._outputs, slots, left_out)

    def compile(self, steps: Sequence[StepSpec], names: Names, carried: Carried | None = None) -> Block:
        """Compile the steps of one scope; their names are bound in `names`."""
        writers = Writers(self._report)
        needs = declared_order(steps, self._report)
        slots: dict[str, int] = {}
        for step in steps:
            slots[step.name.value] = self._declarations.declare(step, names, writers, carried)
        writers.bind(names, needs)
        if carried is not None:
            carried.settle(needs, self._report)
        self._declarations.bind_merges(steps, names, writers)
        compiled = [self._step(step, slots[step.name.value], names) for step in steps]
        ops = [op for op in compiled if op is not None]
        if len(ops) < len(steps):
            return Block(ops=(), linear=True)  # reported: the plan is never used
        for op in ops:
            self._slots.read |= op.reads
        return block_of(steps, ops, self._report)

    def _step(self, step: StepSpec, slot: int, names: Names) -> AnyOp | None:
        """Compile one step; None when it cannot be, after reporting why."""
        self._refuse_without_call(step)
        if step.condition is None:
            return self._work(step, slot, names)
        guard = self._reader.condition(step.condition, names)
        source = step.condition.value
        with self._reader.guards.under(source, frozenset() if guard is None else guard.slots):
            op = self._work(step, slot, names)
        if op is None or guard is None:
            return op
        return replace(
            op,
            guard=guard.get,
            guard_source=source,
            guard_reads=guard.slots,
            reads=op.reads | guard.slots,
            resources=op.resources | guard.resources,
        )

    def _work(self, step: StepSpec, slot: int, names: Names) -> AnyOp | None:
        """Compile what a step does when its condition holds."""
        if step.repeat is not None:
            return self._loop(step, step.repeat, slot, names)
        if step.for_each is not None:
            return self._map(step, step.for_each, slot, names)
        return self._own(step, slot, names)

    def _refuse_without_call(self, step: StepSpec) -> None:
        """Report keys that act on a step's own call where it makes none."""
        given = {
            "resilience": step.resilience != ResilienceSpec(),
            "estimate": step.estimate != EstimateSpec(),
            "estimator": step.estimator is not None,
        }
        for key, is_given in given.items():
            if is_given and step.component is None:
                self._report.add(
                    step.name.span.problem(
                        SpecCode.NO_EFFECT,
                        f"`{key}` has no effect on step '{step.name.value}', which calls no component itself",
                        expected=f"`{key}` on steps with a component",
                        suggestion="move it to the steps inside",
                    )
                )

    def _own(self, step: StepSpec, slot: int, names: Names) -> AnyOp | None:
        """The call or sub-workflow that a step, or each item of its map, makes."""
        if step.component is not None:
            component = self._finder.component(step.component)
            return None if component is None else self._calls.of_step(step, component, slot, names)
        if step.workflow is not None:
            plan = self._finder.plan(step.workflow)
            return None if plan is None else self._sub(step, plan, slot, names)
        return None

    def _sub(self, step: StepSpec, plan: Plan, slot: int, names: Names) -> SubOp:
        meant = self._meanings.into(step, plan)
        mapped = compile_mapping(
            self._reader,
            step.input_mapping or (),
            names,
            plan.input_schema,
            step.name.span,
            f"sub-workflow '{plan.name}'",
            meant=meant,
        )
        return SubOp(
            name=step.name.value,
            slot=slot,
            plan=plan,
            inputs=mapped.getters,
            crossings_in=self._meanings.settle(meant),
            crossings_out=self._meanings.out_of_sub(step, plan),
            reads=mapped.slots,
            resources=mapped.resources,
            share=step.share,
        )

    # bodies

    def _map(self, step: StepSpec, each: ForEachSpec, slot: int, names: Names) -> MapOp | None:
        over = self._reader.expression(each.over, names)
        item_name = "item" if each.item is None else each.item.value
        kind = DYN if over is None else self._item_type(each.over, over.type)
        first_own = item_slot = self._slots.new(item_name)
        index_slot = self._slots.new("index")
        inner = Names(names)
        for name, its_slot, its_type in ((item_name, item_slot, kind), ("index", index_slot, INT)):
            inner.hide(name)
            inner.bind((name,), [Binding(slot=its_slot, type=its_type)])
        compiled = self._item_body(step, each, inner)
        if over is None or compiled is None:
            return None
        body, result = compiled
        return MapOp(
            name=step.name.value,
            slot=slot,
            over=over.get,
            over_source=each.over.value,
            over_reads=over.slots,
            item_slot=item_slot,
            index_slot=index_slot,
            body=body,
            result=result,
            max_parallel=each.max_parallel or DEFAULT_MAX_PARALLEL,
            null_on_error=each.on_item_error is OnItemError.NULL,
            reads=over.slots | _outer_reads(body, first_own),
            resources=over.resources,
            share=step.share,
        )

    def _item_body(self, step: StepSpec, each: ForEachSpec, inner: Names) -> tuple[Block, Getter] | None:
        """What is done for each item, and how its result is read: the map's own steps, or the one call of its step."""
        if each.steps:
            body = self.compile(each.steps, inner)
            return body, _object_getter([(op.name, op.slot) for op in body.ops])
        own_slot = self._slots.new(f"steps.{step.name.value}[]")
        own = self._own(step, own_slot, inner)
        if own is None:
            return None
        self._slots.read |= own.reads
        return Block(ops=(replace(own, name="", share=None),), linear=True), path_getter(own_slot, ())

    def _item_type(self, place: Located[str], kind: ValueType) -> ValueType:
        if kind.kind in (Kind.DYN, Kind.ARRAY):
            return kind.item or DYN
        self._report.add(
            place.span.problem(
                PlanCode.NOT_A_LIST,
                f"for_each goes over `{place.value}`, which is {render(kind)}",
                expected="a list",
            )
        )
        return DYN

    def _loop(self, step: StepSpec, repeat: RepeatSpec, slot: int, names: Names) -> LoopOp:
        inner = Names(names)
        inner.hide("carry")
        inner.hide("round")
        starts = {mapping.field.value: self._reader.source(mapping, names) for mapping in repeat.carry}
        first_own = round_slot = self._slots.new("round")
        inner.bind(("round",), [Binding(slot=round_slot, type=INT)])
        carried = Carried({name: self._slots.new(f"carry.{name}") for name in starts})
        for name, carry_slot in carried.names.items():
            start = starts[name]
            kind = DYN if start is None else join(start.type, self._outputs.of_carry(repeat.steps, name, start.type))
            inner.bind(("carry", name), [Binding(slot=carry_slot, type=kind)])
        body = self.compile(repeat.steps, inner, carried)
        until = None if repeat.until is None else self._reader.expression(repeat.until, inner, expect=BOOL)
        reads: frozenset[int] = frozenset().union(*(start.slots for start in starts.values() if start is not None))
        until_reads = frozenset() if until is None else until.slots
        seen = (start.resources for start in starts.values() if start is not None)
        self._slots.read |= until_reads | reads
        carries = tuple(
            _carry(name, carried.names[name], start, carried.writers.get(name, ()))
            for name, start in starts.items()
            if start is not None
        )
        return LoopOp(
            name=step.name.value,
            slot=slot,
            body=body,
            carries=carries,
            round_slot=round_slot,
            until=None if until is None else until.get,
            until_source="" if repeat.until is None else repeat.until.value,
            until_reads=until_reads,
            until_resources=NO_RESOURCES if until is None else until.resources,
            max_rounds=repeat.max_rounds,
            results=tuple((op.name, op.slot) for op in body.ops),
            resources=NO_RESOURCES.union(*seen),
            reads=reads | frozenset(s for s in until_reads if s < first_own) | _outer_reads(body, first_own),
            share=step.share,
        )


def _outer_reads(body: Block, first_own: int) -> frozenset[int]:
    """What a body reads from outside: slots that were there before its own."""
    return frozenset(slot for op in body.ops for slot in op.reads if slot < first_own)


def _carry(name: str, slot: int, start: Read, writers: Sequence[Binding]) -> Carry:
    carry = Carry(name=name, slot=slot, start=start.get, next=None, start_reads=start.slots)
    if not writers:
        return carry
    names = Names()
    names.bind(("carry",), writers)
    written = names.lookup(("carry",))
    return replace(carry, next=written.get, next_reads=written.slots)


def _object_getter(parts: Sequence[tuple[str, int]]) -> Getter:
    return reads_object([(name, path_getter(slot, ())) for name, slot in parts])
