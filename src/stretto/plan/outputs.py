"""What a step's output will be, known before the step is compiled: names need types before steps need names."""

from collections.abc import Iterator, Sequence
from functools import reduce

from stretto.plan.finding import Finder
from stretto.plan.meaning.meanings import Meanings
from stretto.plan.valuetype import BOOL, DYN, INT, Missing, ValueType, array_of, at, from_schema, join, object_of
from stretto.spec.model import OnItemError, StepSpec


class OutputTypes:
    """Types of outputs, from the cards of components and the outputs of sub-workflows."""

    def __init__(self, finder: Finder, meanings: Meanings) -> None:
        self._finder = finder
        self._meanings = meanings

    def of(self, step: StepSpec) -> ValueType:
        """The type of what ``steps.<name>`` holds, when the step is not skipped."""
        if step.repeat is not None:
            last = {inner.name.value: self.of(inner).or_null() for inner in step.repeat.steps}
            carry = {mapping.field.value: DYN for mapping in step.repeat.carry}
            return object_of({"last": object_of(last), "rounds": INT, "done": BOOL, "carry": object_of(carry)})
        if step.for_each is not None:
            item = self._own(step)
            if step.for_each.steps:
                item = object_of({s.name.value: self.of(s).or_null() for s in step.for_each.steps})
            if step.for_each.on_item_error is OnItemError.NULL:
                item = item.or_null()
            return object_of({"items": array_of(item)})
        return self._own(step)

    def _own(self, step: StepSpec) -> ValueType:
        if step.component is not None:
            component = self._finder.catalog.find(step.component.value)
            return DYN if component is None else self._meanings.of_output(step, from_schema(component.card.output))
        if step.workflow is not None:
            plan = self._finder.plan(step.workflow)
            return DYN if plan is None else self._meanings.of_output(step, self._meanings.of_sub(plan))
        return DYN

    def of_carry(self, steps: Sequence[StepSpec], carry: str, start: ValueType) -> ValueType:
        """The type that a loop's steps write to a carry, one or the other; that of its start when no step does."""
        written = list(self._written(steps, f"carry.{carry}"))
        return reduce(join, written) if written else start

    def _written(self, steps: Sequence[StepSpec], target: str) -> Iterator[ValueType]:
        for step in steps:
            for alias in step.output_mapping:
                if alias.target.value == target:
                    kind = self.of(step)
                    for part in alias.field.value.split("."):
                        found = at(kind, part)
                        kind = DYN if isinstance(found, Missing) else found
                    yield kind
