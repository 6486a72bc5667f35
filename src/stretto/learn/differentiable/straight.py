"""Modules that follow one another, called as by hand and looked at when all have answered.

What is done around a call costs most between two calls, where none of it is in the processor's caches any more; after
them all it is nearly nothing. What is then not in order at a glance is left to the steps one by one, of which nothing
was noted yet: they say what is wrong, and in which row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeAlias

import torch
from torch import Tensor, nn

from stretto.components.torch.signature import REFERENCE
from stretto.learn.differentiable.cohort import Cohort
from stretto.learn.differentiable.columns import Returned
from stretto.learn.differentiable.given import Parameter
from stretto.learn.differentiable.inside import InsideNode, Made, NoChoiceError
from stretto.learn.differentiable.node import Node, run_block
from stretto.learn.differentiable.reading import Source
from stretto.learn.differentiable.underway import Computed, Underway
from stretto.plan.expr.access import PathOf
from stretto.types.enums import Estimator
from stretto.types.errors import ContractError

Tensors: TypeAlias = Mapping[str, Tensor]

_WRITES: Final = attrgetter("_version")


class Reading(NamedTuple):
    """A tensor that a module reads of what another returned."""

    parameter: str
    slot: int
    field: str
    dtype: torch.dtype


class Calling(NamedTuple):
    """One of the modules."""

    slot: int
    """Of what it returns."""
    module: nn.Module
    readings: Sequence[Reading]
    takes_reference: bool
    node: InsideNode


@dataclass(slots=True)
class Called:
    """What came of it."""

    given: Mapping[str, Any]
    returned: Any
    """As the module has it."""
    writes: Sequence[int]
    """To each tensor that it returned, until then."""
    ended: float


class _Asked:
    """What all of a stretch read of a batch's requests."""

    def __init__(self, tensors: Sequence[Tensors], *, fits: bool) -> None:
        self.tensors = tensors
        self.fits = fits
        """Each row is as the modules take it."""
        self._all = {id(value): value for each in tensors for value in each.values()}
        self._writes = writes_to(self._all)

    def is_unwritten(self) -> bool:
        """Whether they are as they were made."""
        return writes_to(self._all) == self._writes


class Stretch:
    """Steps that follow one another: some modules to be called straight on, or any one step."""

    def __init__(self, nodes: Sequence[Node], callings: Sequence[Calling] = ()) -> None:
        self.last = nodes[-1]
        """Where it ends."""
        self._nodes = nodes
        self._callings = callings
        own = {node.op.slot for node in nodes}
        self._slots = [*{each.slot for calling in callings for each in calling.readings} - own]
        """Of what it reads of steps before it."""

    def run(self, batch: Underway, cohort: Cohort) -> None:
        """Do them, straight on where that can be done."""
        if not self._is_done(batch, cohort):
            run_block(batch, self._nodes, cohort)

    def _is_done(self, batch: Underway, cohort: Cohort) -> bool:
        """Whether all went straight on."""
        if not self._callings or not cohort.is_whole or cohort.failed or batch.adversaries or batch.is_elsewhere:
            return False
        if torch.is_inference_mode_enabled():  # in which torch counts no writes
            return False
        asked: _Asked = batch.data.own(self, partial(self._asked, batch, cohort))
        columns = [cohort.frame.get(slot) for slot in self._slots]
        before = [column.tensors for column in columns if isinstance(column, Returned)]
        if not asked.fits or len(before) < len(columns):
            return False
        writes, started = [writes_to(each) for each in before], batch.now()
        called = self._called(batch, cohort, asked.tensors, dict(zip(self._slots, before, strict=True)))
        if called is None or not asked.is_unwritten() or [writes_to(each) for each in before] != writes:
            return False
        events = self._events(batch, cohort, called, started)
        for event in events or ():
            cohort.frame.put(event.op.slot, event.output)
            batch.events.append(event)
        return events is not None

    def _asked(self, batch: Underway, cohort: Cohort) -> "_Asked":
        asked = [each.node.taking.asked(batch, cohort) for each in self._callings]
        return _Asked([each.tensors for each in asked], fits=not any(each.misfits for each in asked))

    def _called(
        self, batch: Underway, cohort: Cohort, asked: Sequence[Tensors], before: Mapping[int, Tensors]
    ) -> list[Called] | None:
        """What each returned; None where one raised."""
        returned, called = {**before}, []
        try:
            for (own, module, readings, takes_reference, node), tensors in zip(self._callings, asked, strict=True):
                given: dict[str, Any] = {**tensors}
                for parameter, slot, field, dtype in readings:
                    value = returned[slot][field]
                    given[parameter] = value if value.dtype is dtype else value.to(dtype)
                if takes_reference:
                    given[REFERENCE] = batch.references_of(cohort)
                found = module(**given)
                if type(found) is not dict:
                    found = node.component.held(found, cohort.size)
                returned[own] = found
                called.append(Called(given, found, [*map(_WRITES, found.values())], batch.now()))
        except Exception:  # noqa: BLE001  # whatever it is: the step itself lets it be raised again, and says where
            return None
        return called

    def _events(
        self, batch: Underway, cohort: Cohort, called: Sequence[Called], started: float
    ) -> list[Computed] | None:
        """What is noted of each; None where a tensor is not as declared, or was written to, or a choice has no
        probabilities."""
        events = []
        try:
            for calling, each in zip(self._callings, called, strict=True):
                if [*map(_WRITES, each.returned.values())] != each.writes:
                    return None
                found = calling.node.component.held(each.returned, cohort.size)
                made = Made(each.given, found, calling.node.read, started, each.ended)
                events.append(calling.node.event_of(batch, cohort, made))
                started = each.ended
        except (NoChoiceError, ContractError):
            return None
        return events


def writes_to(tensors: Mapping[Any, Tensor]) -> list[int]:
    """How often each was written to, as torch counts."""
    return [*map(_WRITES, tensors.values())]


def stretches_of(nodes: Sequence[Node], modules: Mapping[str, nn.Module]) -> list[Stretch]:
    """The steps of a workflow, those together that may be called straight on."""
    found: list[Stretch] = []
    run: list[Calling] = []
    writers: dict[int, InsideNode] = {}

    def end() -> None:
        if run:
            found.append(Stretch([each.node for each in run], [*run]))
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
    return Reading(parameter.name, source.slot, str(field), parameter.dtype)
