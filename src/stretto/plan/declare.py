"""Declare the steps of a block: each gets its slot, and its output its names, before any step is compiled."""

from collections.abc import Mapping, Sequence

from stretto.plan.codes import PlanCode
from stretto.plan.fields import Reader
from stretto.plan.flow import Writers
from stretto.plan.names import Binding, Names
from stretto.plan.outputs import OutputTypes
from stretto.plan.slots import Slots
from stretto.plan.valuetype import Missing, ValueType, at
from stretto.spec.model import AliasSpec, StepSpec
from stretto.spec.report import Report
from stretto.spec.suggest import nearest


class Carried:
    """What a loop under compilation carries, and who writes it."""

    def __init__(self, names: Mapping[str, int]) -> None:
        self.names = names
        self.writers: dict[str, list[Binding]] = {}


class Declarations:
    """Declares the steps of one workflow, block by block."""

    def __init__(self, report: Report, reader: Reader, outputs: OutputTypes, slots: Slots) -> None:
        self._report = report
        self._reader = reader
        self._outputs = outputs
        self._slots = slots

    def declare(self, step: StepSpec, names: Names, writers: Writers, carried: Carried | None) -> int:
        """Give a step its slot, and its output its names."""
        name = step.name.value
        slot = self._slots.new(f"steps.{name}")
        kind = self._outputs.of(step)
        if step.condition is not None:
            kind = kind.or_null()
            self._reader.guards.writes_under(slot, step.condition.value)
        names.bind(("steps", name), [Binding(slot=slot, type=kind, step=name)])
        for alias in step.output_mapping:
            binding = self._alias(step, alias, slot, kind)
            if binding is None:
                continue
            if alias.target.value.split(".")[0] == "carry":
                self._write_carry(alias, binding, carried)
            else:
                writers.add(alias.target, binding)
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
            carried.writers.setdefault(name, []).append(binding)
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

    def bind_merges(self, steps: Sequence[StepSpec], names: Names) -> None:
        """Give what a merge names its sources, in their order."""
        for step in steps:
            for merge in step.merge:
                bindings: list[Binding] = []
                for source in merge.sources:
                    read = self._reader.expression(source, names)
                    if read is not None:
                        bindings += names.bindings(tuple(source.value.split(".")))
                if bindings:
                    names.bind(tuple(merge.target.value.split(".")), bindings)
