"""Declare the steps of a block: each gets its slot, and its output its names, before any step is compiled."""

from collections.abc import Mapping, Sequence

from stretto.plan.codes import PlanCode
from stretto.plan.expr import ExprCode, UnknownPath
from stretto.plan.fields import Reader
from stretto.plan.flow import Writers, Written, latest_first
from stretto.plan.names import Binding, Names
from stretto.plan.outputs import OutputTypes
from stretto.plan.slots import Slots
from stretto.plan.valuetype import Missing, ValueType, at
from stretto.spec.model import AliasSpec, MergeSpec, StepSpec
from stretto.spec.report import Report
from stretto.spec.source import Located
from stretto.spec.suggest import nearest


class Carried:
    """What a loop under compilation carries, and who writes it."""

    def __init__(self, names: Mapping[str, int]) -> None:
        self.names = names
        self.writers: dict[str, list[Binding]] = {}
        """Of each name, the latest first; known once they are settled."""
        self._written: dict[str, list[Written]] = {}

    def add(self, name: str, target: Located[str], binding: Binding) -> None:
        """Note that a step of the body writes a name."""
        self._written.setdefault(name, []).append((target, binding))

    def settle(self, needs: dict[str, frozenset[str]], report: Report) -> None:
        """Order the writers of each name; report two whose order nothing gives."""
        self.writers = {name: latest_first(written, needs, report) for name, written in self._written.items()}


class Declarations:
    """Declares the steps of one workflow, block by block."""

    def __init__(
        self,
        report: Report,
        reader: Reader,
        outputs: OutputTypes,
        slots: Slots,
        left_out: frozenset[str] = frozenset(),
    ) -> None:
        """`left_out` are steps that the contract lets be skipped with nothing in their place."""
        self._report = report
        self._reader = reader
        self._outputs = outputs
        self._slots = slots
        self._left_out = left_out

    def declare(self, step: StepSpec, names: Names, writers: Writers, carried: Carried | None) -> int:
        """Give a step its slot, and its output its names."""
        name = step.name.value
        slot = self._slots.new(f"steps.{name}")
        kind = self._outputs.of(step)
        if step.condition is not None:
            kind = kind.or_null()
            self._reader.guards.writes_under(slot, step.condition.value)
        if name in self._left_out:
            kind = kind.or_null()
        names.bind(("steps", name), [Binding(slot=slot, type=kind, step=name)])
        for alias in step.output_mapping:
            binding = self._alias(step, alias, slot, kind)
            if binding is None:
                continue
            if alias.target.value.split(".")[0] == "carry":
                self._write_carry(alias, binding, carried)
            else:
                writers.add(alias.target, binding)
        for merge in step.merge:
            writers.merge(merge.target, name)
        return slot

    def _alias(self, step: StepSpec, alias: AliasSpec, slot: int, kind: ValueType) -> Binding | None:
        """The place inside a step's output that an alias stands for."""
        path = tuple(alias.field.value.split("."))
        for part in path:
            found = at(kind, part)
            if isinstance(found, Missing):
                near = nearest(part, found.valid)
                self._report.add(
                    alias.field.span.problem(
                        PlanCode.UNKNOWN_FIELD,
                        f"the output of step '{step.name.value}' has no field '{alias.field.value}'",
                        expected=f"one of {', '.join(sorted(found.valid)) or 'none: it has no fields'}",
                        suggestion=near or "",
                    )
                )
                return None
            kind = found
        return Binding(slot=slot, path=path, type=kind, step=step.name.value)

    def _write_carry(self, alias: AliasSpec, binding: Binding, carried: Carried | None) -> None:
        name = alias.target.value.removeprefix("carry.")
        if carried is not None and name in carried.names:
            carried.add(name, alias.target, binding)
            return
        known = [] if carried is None else [f"carry.{each}" for each in carried.names]
        near = nearest(alias.target.value, known)
        new = f"carry: {{{name}: {{value: null}}}} in the repeat" if carried is not None else "a name of your own"
        self._report.add(
            alias.target.span.problem(
                PlanCode.CARRY,
                f"step '{binding.step}' writes '{alias.target.value}', which no loop around it carries",
                expected=f"one of {', '.join(known)}" if known else "a step inside a repeat that carries it",
                suggestion=near or new,
            )
        )

    def bind_merges(self, steps: Sequence[StepSpec], names: Names, writers: Writers) -> None:
        """Give what a merge names its sources, in their order."""
        for step in steps:
            for merge in step.merge:
                self._bind_merge(merge, names, writers)

    def _bind_merge(self, merge: MergeSpec, names: Names, writers: Writers) -> None:
        target = tuple(merge.target.value.split("."))
        if target[0] == "carry":
            self._report.add(
                merge.target.span.problem(
                    PlanCode.CARRY,
                    f"a merge cannot write '{merge.target.value}'",
                    expected="a name of your own",
                    suggestion="let the steps write the carry by `output_mapping`, and give their order by `needs`",
                )
            )
            return
        sources = [self._source(source, names) for source in merge.sources]
        if all(sources):  # else reported: the rest of the list is no whole answer
            bindings = [binding for source in sources for binding in source]
            writers.check_merge(target, bindings)
            names.bind(target, bindings)

    def _source(self, source: Located[str], names: Names) -> list[Binding]:
        """The places that a merge's source may be read from; none after reporting why."""
        read = self._reader.expression(source, names)
        if read is None:
            return []
        why, expected = f"a merge takes paths, and `{source.value}` is none", "a path: steps.NAME.field"
        if read.parts:
            try:
                return names.bindings(read.parts)
            except UnknownPath as unknown:  # a parent of names, which an expression may read whole
                why, expected = unknown.message, f"one of {', '.join(f'{read.path}.{part}' for part in unknown.valid)}"
        self._report.add(
            source.span.problem(
                ExprCode.UNSUPPORTED,
                why,
                expected=expected,
                suggestion="merge the paths as they are, and work out the rest where the merged path is read",
            )
        )
        return []
