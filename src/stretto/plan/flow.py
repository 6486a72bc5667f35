"""The data flow of one block: who writes which path, who waits for whom, in which order steps run."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from stretto.plan.codes import PlanCode
from stretto.plan.model import AnyOp, Block, CallOp, SubOp
from stretto.plan.names import Binding, Names
from stretto.plan.order import Cycle, order_of
from stretto.spec.model import StepSpec
from stretto.spec.report import Report
from stretto.spec.source import Located
from stretto.spec.suggest import nearest
from stretto.types.enums import Effect


@dataclass(slots=True)
class Writers:
    """Every alias that the steps of a block write, before it is bound to a name."""

    report: Report
    by_target: dict[tuple[str, ...], list[tuple[Located[str], Binding]]] = field(default_factory=dict)

    def add(self, target: Located[str], binding: Binding) -> None:
        """Note that a step writes a path."""
        self.by_target.setdefault(tuple(target.value.split(".")), []).append((target, binding))

    def bind(self, names: Names, needs: dict[str, frozenset[str]], merged: frozenset[tuple[str, ...]]) -> None:
        """Bind every alias; report paths with two writers whose order nothing gives."""
        targets = sorted(self.by_target)
        for target in targets:
            writers = self.by_target[target]
            self._check_prefixes(target, targets)
            if target in merged:
                continue
            if len(writers) > 1 and not _ordered(writers, needs):
                self._two_writers(target, writers)
            names.bind(target, [binding for _, binding in _latest_first(writers, needs)])

    def _check_prefixes(self, target: tuple[str, ...], targets: Sequence[tuple[str, ...]]) -> None:
        for other in targets:
            if len(other) < len(target) and target[: len(other)] == other:
                place, binding = self.by_target[target][0]
                first = self.by_target[other][0]
                self.report.add(
                    place.span.problem(
                        PlanCode.TWO_WRITERS,
                        f"step '{binding.step}' writes '{'.'.join(target)}', which is inside '{'.'.join(other)}', "
                        f"written by step '{first[1].step}' at line {first[0].mark.line}",
                        expected="one writer for a path and everything inside it",
                        suggestion="write to another path",
                    )
                )

    def _two_writers(self, target: tuple[str, ...], writers: Sequence[tuple[Located[str], Binding]]) -> None:
        (first, one), (second, other) = writers[0], writers[1]
        path = ".".join(target)
        self.report.add(
            second.span.problem(
                PlanCode.TWO_WRITERS,
                f"steps '{one.step}' and '{other.step}' both write '{path}' "
                f"(the first at line {first.mark.line}), in no given order",
                expected="one writer, or an order",
                suggestion=f"needs: [{one.step}] in step '{other.step}', "
                f"or merge: {{{path}: [steps.{other.step}, steps.{one.step}]}}",
            )
        )


def _ordered(writers: Sequence[tuple[Located[str], Binding]], needs: dict[str, frozenset[str]]) -> bool:
    steps = [binding.step for _, binding in writers]
    return all(a in needs[b] or b in needs[a] for i, a in enumerate(steps) for b in steps[i + 1 :])


def _latest_first(
    writers: Sequence[tuple[Located[str], Binding]], needs: dict[str, frozenset[str]]
) -> list[tuple[Located[str], Binding]]:
    return sorted(writers, key=lambda writer: len(needs.get(writer[1].step, ())), reverse=True)


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
