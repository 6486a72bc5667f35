"""The data flow of one block: who writes which path, who waits for whom, in which order steps run."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from stretto.plan.codes import PlanCode
from stretto.plan.model import AnyOp, Block, CallOp, SubOp
from stretto.plan.names import Binding, Names
from stretto.plan.order import Cycle, order_of
from stretto.spec.model import StepSpec
from stretto.spec.report import Report
from stretto.spec.source import Located
from stretto.spec.suggest import nearest
from stretto.types.enums import Effect

Target: TypeAlias = tuple[str, ...]
"""A path that is written, name by name."""

Written: TypeAlias = tuple[Located[str], Binding]
"""One step's writing of a path, and where the file says so."""


@dataclass(slots=True)
class Writers:
    """Every alias and merge that the steps of a block write, before it is bound to a name."""

    report: Report
    by_target: dict[Target, list[Written]] = field(default_factory=dict)
    merges: dict[Target, tuple[Located[str], str]] = field(default_factory=dict)
    """Which step merges into a path, and where."""

    def add(self, target: Located[str], binding: Binding) -> None:
        """Note that a step writes a path."""
        self.by_target.setdefault(tuple(target.value.split(".")), []).append((target, binding))

    def merge(self, target: Located[str], step: str) -> None:
        """Note that a step merges the writers of a path; a second merge of it is reported."""
        first, by = self.merges.setdefault(tuple(target.value.split(".")), (target, step))
        if first is not target:
            self._report(
                target,
                f"steps '{by}' and '{step}' both merge into '{target.value}' (the first at line {first.mark.line})",
                expected="one merge that names every writer",
                suggestion=f"one list of all paths, in step '{by}'",
            )

    def bind(self, names: Names, needs: dict[str, frozenset[str]]) -> None:
        """Bind every alias; report paths with two writers whose order nothing gives, and paths inside others."""
        places = {
            **{target: (place, binding.step) for target, [(place, binding), *_] in self.by_target.items()},
            **self.merges,
        }
        for target in sorted(places):
            self._check_prefixes(target, places)
            self._check_around(target, places[target], names.overlapping(target))
        for target, written in sorted(self.by_target.items()):
            if target not in self.merges:
                names.bind(target, latest_first(written, needs, self.report))

    def check_merge(self, target: Target, sources: Sequence[Binding]) -> None:
        """Report the writers of a path that its merge does not name: what they write would be lost."""
        slots = {source.slot for source in sources}
        for place, binding in self.by_target.get(target, ()):
            if binding.slot not in slots:
                merge, step = self.merges[target]
                self._report(
                    merge,
                    f"step '{binding.step}' writes '{'.'.join(target)}' at line {place.mark.line}, and the merge in "
                    f"step '{step}' does not name it",
                    expected="a merge that names every writer",
                    suggestion=f"steps.{binding.step} in the list, where its turn is",
                )

    def _check_prefixes(self, target: Target, places: dict[Target, tuple[Located[str], str]]) -> None:
        for other, (first, by) in places.items():
            if len(other) < len(target) and target[: len(other)] == other:
                place, step = places[target]
                self._report_inside(
                    place,
                    f"step '{step}' writes '{'.'.join(target)}', which is inside '{'.'.join(other)}', "
                    f"written by step '{by}' at line {first.mark.line}",
                )

    def _check_around(self, target: Target, written: tuple[Located[str], str], around: str) -> None:
        """In a body: what is written outside, or the loop's own, stays what it is."""
        if around:
            place, step = written
            path = ".".join(target)
            where = "which is inside" if path.startswith(f"{around}.") else "around"
            self._report_inside(
                place, f"step '{step}' writes '{path}', {where} '{around}', which stands outside the body"
            )

    def _report_inside(self, place: Located[str], message: str) -> None:
        self._report(
            place,
            message,
            expected="one writer for a path and everything inside it",
            suggestion="write to another path",
        )

    def _report(self, place: Located[str], message: str, *, expected: str, suggestion: str) -> None:
        self.report.add(place.span.problem(PlanCode.TWO_WRITERS, message, expected=expected, suggestion=suggestion))


def latest_first(written: Sequence[Written], needs: dict[str, frozenset[str]], report: Report) -> list[Binding]:
    """The writers of one path, whose values are asked in this order; report two whose order nothing gives."""
    if len(written) > 1 and not _ordered(written, needs):
        _report_two_writers(written, report)
    bindings = [binding for _, binding in written]
    return sorted(bindings, key=lambda binding: len(needs.get(binding.step, ())), reverse=True)


def _ordered(written: Sequence[Written], needs: dict[str, frozenset[str]]) -> bool:
    steps = [binding.step for _, binding in written]
    return all(a in needs[b] or b in needs[a] for i, a in enumerate(steps) for b in steps[i + 1 :])


def _report_two_writers(written: Sequence[Written], report: Report) -> None:
    (first, one), (second, other) = written[0], written[1]
    path = second.value
    order = f"needs: [{one.step}] in step '{other.step}'"
    merge = f", or merge: {{{path}: [steps.{other.step}, steps.{one.step}]}}"
    twice = one.step == other.step
    message = (
        f"step '{one.step}' writes '{path}' twice"
        if twice
        else f"steps '{one.step}' and '{other.step}' both write '{path}' (the first at line {first.mark.line}), "
        "in no given order"
    )
    report.add(
        second.span.problem(
            PlanCode.TWO_WRITERS,
            message,
            expected="one field for each path" if twice else "one writer, or an order",
            suggestion="another path" if twice else order if path.startswith("carry.") else order + merge,
        )
    )


def declared_order(steps: Sequence[StepSpec], report: Report) -> dict[str, frozenset[str]]:
    """What each step waits for by `needs`, directly or not; unknown names are reported."""
    names = {step.name.value for step in steps}
    direct: dict[str, set[str]] = {name: set() for name in names}
    for step in steps:
        for need in step.needs:
            if need.value in names:
                direct[step.name.value].add(need.value)
                continue
            near = nearest(need.value, names)
            report.add(
                need.span.problem(
                    PlanCode.UNKNOWN_STEP,
                    f"step '{step.name.value}' needs '{need.value}', and no step beside it has that name",
                    expected=f"one of {', '.join(sorted(names - {step.name.value})) or 'none: it is the only step'}",
                    suggestion=near or "",
                )
            )
    return {name: frozenset(_closure(name, direct)) for name in names}


def _closure(name: str, direct: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    todo = list(direct[name])
    while todo:
        other = todo.pop()
        if other not in found:
            found.add(other)
            todo.extend(direct[other])
    return found


def block_of(steps: Sequence[StepSpec], ops: Sequence[AnyOp], report: Report) -> Block:
    """Order a block's operations by their reads, their `needs`, and the file's order of writes."""
    slots = {op.slot: index for index, op in enumerate(ops)}
    index_of = {step.name.value: index for index, step in enumerate(steps)}
    before = {
        index: {slots[slot] for slot in op.reads if slot in slots}
        | {index_of[need.value] for need in steps[index].needs if need.value in index_of}
        for index, op in enumerate(ops)
    }
    previous = None
    for index, op in enumerate(ops):
        if not may_write(op):
            continue
        if previous is not None and not steps[index].needs:
            before[index].add(previous)
        previous = index
    try:
        order = order_of(len(ops), {index: frozenset(found) for index, found in before.items()})
    except Cycle as cycle:
        _report_cycle(cycle, steps, report)
        return Block(ops=tuple(ops), linear=True)
    return Block(
        ops=tuple(ops[index] for index in order.sequence),
        linear=order.linear,
        indegree=order.indegree,
        children=order.children,
    )


def may_write(op: AnyOp) -> bool:
    """Whether an operation, or anything inside it, may change the world."""
    if isinstance(op, CallOp):
        return Effect.WRITE in op.component.card.effects.values()
    if isinstance(op, SubOp):
        return any(may_write(inner) for inner in op.plan.body.ops)
    return any(may_write(inner) for inner in op.body.ops)


def components_called(block: Block) -> frozenset[str]:
    """Names of the components that the steps of a block call, those of sub-workflows too; not their fallbacks."""
    found: set[str] = set()
    for op in block.ops:
        if isinstance(op, CallOp):
            found.add(op.component_name)
        else:
            found |= components_called(op.plan.body if isinstance(op, SubOp) else op.body)
    return frozenset(found)


def _report_cycle(cycle: Cycle, steps: Sequence[StepSpec], report: Report) -> None:
    names = [steps[index].name.value for index in cycle.indices]
    step = steps[cycle.indices[0]]
    chain = " → ".join(f"'{name}'" for name in names)
    message = (
        f"step '{names[0]}' waits for its own output"
        if len(names) == 2  # a step and itself
        else f"these steps wait for each other: {chain}"
    )
    report.add(
        step.name.span.problem(
            PlanCode.CYCLE,
            message,
            expected="an order in which each step reads only what earlier ones wrote",
            suggestion="use repeat with carry to pass a value to the next round",
        )
    )
