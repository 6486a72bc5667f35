"""Steps whose component is elsewhere and pulls gradients back itself: called as any step outside, with tensors kept.

Forward is the engine's own step call, one a row, and what it answers stands in the record. A row that the component
itself answered carries a gradient, which is asked for when the loss goes back (`remote_pull`); one that failed, or
that a fallback answered, carries none. The component's own weights learn nothing from that: gradients are of its
inputs.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import torch
from torch import Tensor

from stretto.components.torch.component import TorchComponent
from stretto.components.torch.shape import DType, Shape
from stretto.components.torch.values import tensor_of
from stretto.engine.state import RunState
from stretto.learn.differentiable.answered import Answered
from stretto.learn.differentiable.cohort import Cohort
from stretto.learn.differentiable.columns import Column, Mixed, Tensors
from stretto.learn.differentiable.fitting import fitted
from stretto.learn.differentiable.outside import OutsideNode, call_outside, rows_of
from stretto.learn.differentiable.remote_check import Checking
from stretto.learn.differentiable.remote_function import through
from stretto.learn.differentiable.remote_pull import Answer, Pulling, rows_for
from stretto.learn.differentiable.underway import Underway
from stretto.plan.model import CallOp
from stretto.types import card
from stretto.types.enums import StepStatus
from stretto.types.errors import ContractError
from stretto.types.json import Json
from stretto.types.protocols import Differentiates

_DTYPES: Final = {card.Real.F32: DType.FLOAT32, card.Real.F64: DType.FLOAT64}


def pulls_back(op: CallOp) -> bool:
    """Whether a step's component, which is no module, pulls gradients back."""
    told = op.component.card.tensors
    if isinstance(op.component, TorchComponent) or op.per_run:
        return False
    return isinstance(op.component, Differentiates) and told is not None and told.carry


class RemoteNode(OutsideNode):
    """A step whose component pulls gradients back."""

    def __init__(self, op: CallOp, length: int, place: str) -> None:
        super().__init__(op, length, place)
        told = op.component.card.tensors
        assert told is not None
        self.tensors = told
        self.checking = Checking()
        """How often a gradient is held against differences, and what came of it."""
        given = {name for name, _ in self.inputs}
        self._given = [each for each in told.inputs if each.name in given]

    def _own(self, batch: Underway, cohort: Cohort, inputs: Mapping[str, Column]) -> Column:
        leaves = self._leaves(inputs) if torch.is_grad_enabled() and self.passing is None else {}
        if not leaves:
            return super()._own(batch, cohort, inputs)
        data = rows_of(inputs, cohort.size)
        before = {life: len(state.run.steps) for life, state in _states(batch, cohort)}
        column = call_outside(batch, self.call, cohort, data, self.length)
        answers = self._answers(batch, cohort, column, before)
        values = {each.name: self._output(each, column.json) for each in self.tensors.outputs}
        pulling = Pulling(
            host=batch.states.host,
            place=self.place,
            op=self.call,
            tensors=self.tensors,
            rows=rows_for(batch, cohort, self.op.name),
            at_once=cohort.parallel or cohort.size,
            data=data,
            answers=answers,
            checking=self.checking,
            leaves=[*leaves],
        )
        passed = through(pulling, [*values.values()], [*leaves.values()])
        return Answered(column.json, dict(zip(values, passed, strict=True)))

    def _leaves(self, inputs: Mapping[str, Column]) -> dict[str, Tensor]:
        """The inputs to which a gradient can go on, as the card has them."""
        found: dict[str, Tensor] = {}
        for each in self._given:
            column = inputs[each.name]
            if isinstance(column, Tensors) and column.value.requires_grad:
                where = f"'{each.name}' of component '{self.call.component_name}' at step '{self.place}'"
                found[each.name] = fitted(column, _shape(each), where)[0].cpu()
        return found

    def _answers(
        self, batch: Underway, cohort: Cohort, column: Column, before: Mapping[int, int]
    ) -> list[Answer | None]:
        """Of each row how it was answered, None where it was not by the component itself."""
        found: list[Answer | None] = []
        for row, (life, state) in enumerate(_states(batch, cohort)):
            path = cohort.path(row, self.op.name)
            told = [each for each in state.run.steps[before[life] :] if each.path == path]
            is_own = bool(told) and told[-1].status is StepStatus.OK and row not in cohort.failed
            found.append(Answer.of(told[-1], state.info, column.json[row]) if is_own else None)
        return found

    def _output(self, told: card.Tensor, rows: Sequence[Json]) -> Tensors:
        """A field of what was answered, null where it is not there. Raises ContractError for what is no such tensor."""
        values = [row.get(told.name) if isinstance(row, dict) else None for row in rows]
        shape = _shape(told)
        try:
            value = tensor_of(values, Shape(*shape.dims, dtype=shape.dtype, absent=0))
        except (ValueError, TypeError) as error:
            raise ContractError(
                f"component '{self.call.component_name}' at step '{self.place}' answered {told.name!r} that is no "
                f"tensor of {list(told.shape)} of {told.dtype}, as its card says: {error}; correct one of them"
            ) from error
        here = torch.tensor([each is not None for each in values])
        return Mixed(value, None if bool(here.all()) else here, values)


def _shape(told: card.Tensor) -> Shape:
    return Shape(*told.shape, dtype=_DTYPES[told.dtype])


def _states(batch: Underway, cohort: Cohort) -> list[tuple[int, RunState]]:
    lives = [*cohort.lives]
    return [*zip(lives, batch.states.of(lives), strict=True)]
