"""The steps of a workflow in stretches: modules that may be called straight on, and any other step by itself."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

import torch
from torch import nn

from stretto.learn.differentiable.cohort import Cohort
from stretto.learn.differentiable.given import Parameter
from stretto.learn.differentiable.inside import InsideNode, NoChoiceError
from stretto.learn.differentiable.node import Node, run_block
from stretto.learn.differentiable.reading import Source
from stretto.learn.differentiable.returned import Returned
from stretto.learn.differentiable.straight import Called, Calling, Reading, Straight, Tried, note
from stretto.learn.differentiable.underway import Underway
from stretto.plan.expr.access import PathOf
from stretto.types.enums import Estimator


class Stretch:
    """Steps that follow one another: some modules to be called straight on, or any one step."""

    def __init__(self, nodes: Sequence[Node], straight: Straight | None = None) -> None:
        self.last = nodes[-1]
        """Where it ends."""
        self.straight = straight
        self._nodes = nodes

    def run(self, batch: Underway, cohort: Cohort, tried: Tried | None) -> None:
        """Do them, straight on where that can be done, or was; where it was tried and could not, one by one."""
        done = 0 if self.straight is None else self._done(self.straight, batch, cohort, tried)
        if done < len(self._nodes):
            run_block(batch, self._nodes[done:], cohort)

    def _done(self, straight: Straight, batch: Underway, cohort: Cohort, tried: Tried | None) -> int:
        """How many went straight on: all, or those before one that has no probabilities in some rows."""
        started = batch.now() if tried is None else tried.began[0]
        called = self._called(straight, batch, cohort) if tried is None else tried.called
        found = None if called is None else straight.found(called, cohort.size)
        if called is None or found is None:
            return 0
        noted = len(batch.events)
        with suppress(NoChoiceError):
            note(batch, cohort, straight.events(batch, cohort, called, found, started, {}))
        return len(batch.events) - noted

    @staticmethod
    def _called(straight: Straight, batch: Underway, cohort: Cohort) -> list[Called] | None:
        if not cohort.is_whole or cohort.failed or batch.adversaries or batch.is_elsewhere:
            return None
        if torch.is_inference_mode_enabled():  # in which torch counts no writes
            return None
        columns = {slot: cohort.frame.get(slot) for slot in straight.slots}
        before = {slot: column.tensors for slot, column in columns.items() if isinstance(column, Returned)}
        lent = straight.lent(batch.data)
        if not lent.fits or len(before) < len(columns):
            return None
        return straight.called(lent, batch.data.references, before)


def stretches_of(nodes: Sequence[Node], modules: Mapping[str, nn.Module]) -> list[Stretch]:
    """The steps of a workflow, those together that may be called straight on."""
    found: list[Stretch] = []
    run: list[Calling] = []
    writers: dict[int, InsideNode] = {}

    def end() -> None:
        if run:
            found.append(Stretch([each.node for each in run], Straight([*run])))
            run.clear()

    for node in nodes:
        calling = _calling(node, modules, writers) if isinstance(node, InsideNode) else None
        if calling is None or any(each.slot in _unsure(run) for each in calling.readings):
            end()
        if calling is None:
            found.append(Stretch([node]))
        else:
            run.append(calling)
            if calling.node.estimator is Estimator.ENUMERATE:  # after which there are more rows
                end()
        if isinstance(node, InsideNode):
            writers[node.op.slot] = node
    end()
    return found


def _unsure(run: Sequence[Calling]) -> set[int]:
    """Slots of steps whose tensors become others where a reward is not known."""
    return {each.node.op.slot for each in run if each.node.component.signature.rewards}


def _calling(node: InsideNode, modules: Mapping[str, nn.Module], writers: Mapping[int, InsideNode]) -> Calling | None:
    """How a step's module is called straight on; None where it takes more than tensors as they are returned."""
    signature, module = node.component.signature, modules[node.name]
    if not node.is_for_all or signature.plain or signature.texts or hasattr(type(module), "unfit"):
        return None
    sources, readings = dict(node.inputs), []
    for each in node.taking.inner:
        reading = _reading(each, sources[each.name], writers)
        if reading is None:
            return None
        readings.append(reading)
    return Calling(node.op.slot, module, readings, node.taking.takes_reference, node)


def _reading(parameter: Parameter, source: Source, writers: Mapping[int, InsideNode]) -> Reading | None:
    if not isinstance(source, PathOf) or len(source.parts) != 1 or parameter.dtype is None:
        return None
    field, writer = source.parts[0], writers.get(source.slot)
    declared = None if writer is None else writer.component.signature.outputs.get(str(field))
    if declared is None or declared.dims != parameter.dims:
        return None
    if declared.dtype.is_real and not parameter.dtype.is_floating_point:  # rows may be no integers
        return None
    return Reading(parameter.name, source.slot, str(field), parameter.dtype)
