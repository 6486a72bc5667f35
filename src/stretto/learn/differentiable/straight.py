"""Modules that follow one another, called as by hand and looked at when all have answered.

What is done around a call costs most between two calls, where none of it is in the processor's caches any more; after
them all it is nearly nothing. What is then not in order at a glance is left to the steps one by one, of which nothing
was noted yet: they say what is wrong, and in which row.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor, nn

from stretto.components.torch.shape import Shape
from stretto.components.torch.signature import REFERENCE
from stretto.components.torch.values import dtype_of
from stretto.learn.differentiable.chosen import Choices
from stretto.learn.differentiable.cohort import Cohort
from stretto.learn.differentiable.data import Batch
from stretto.learn.differentiable.given import Asked
from stretto.learn.differentiable.inside import InsideNode, Made
from stretto.learn.differentiable.underway import Computed, Underway
from stretto.learn.differentiable.weights import WRITES, writes_to
from stretto.types.errors import ContractError
from stretto.types.json import Json

ByName: TypeAlias = Mapping[str, Tensor]
"""What a module returned."""

Declared: TypeAlias = list[tuple[str, torch.Size, torch.dtype]]
"""What a module returns for some rows."""


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
    """By name, in a dictionary that no module has."""
    writes: Sequence[int]
    """To each tensor that it returned, until then."""
    ended: float


class Lent:
    """What modules read of a batch's requests."""

    def __init__(self, asked: Sequence[Asked]) -> None:
        self.tensors = [each.tensors for each in asked]
        """Of each module."""
        self.fits = not any(each.misfits for each in asked)
        """Each row is as the modules take it."""
        self._all = [*{id(value): value for each in self.tensors for value in each.values()}.values()]
        self._writes = writes_to(self._all)

    def is_unwritten(self) -> bool:
        """Whether they are as they were made."""
        return writes_to(self._all) == self._writes


class Straight:
    """Modules to be called one after another."""

    def __init__(self, callings: Sequence[Calling]) -> None:
        self.callings = callings
        self._key = object()
        """Of what batches keep of it, which may outlive the modules."""
        self._of_size: tuple[int, Sequence[Declared]] = 0, ()
        own = {each.slot for each in callings}
        self.slots = [*{slot for each in callings for _, slot, _, _ in each.readings} - own]
        """Of what they read of steps before them."""

    def lent(self, data: Batch) -> Lent:
        """What they read of the requests."""
        made: Lent = data.own(self._key, lambda: Lent([each.node.taking.asked_of(data) for each in self.callings]))
        return made

    def called(self, lent: Lent, references: Sequence[Json], before: Mapping[int, ByName]) -> list[Called] | None:
        """What each returned; None where one raised, or wrote to what others read. `before` is by slot."""
        returned: dict[int, ByName] = {**before}
        called: list[Called] = []
        converted: list[Tensor] = []
        others = [value for each in before.values() for value in each.values()]
        writes = writes_to(others)
        try:
            for (own, module, readings, takes_reference, node), tensors in zip(
                self.callings, lent.tensors, strict=True
            ):
                given: dict[str, Any] = {**tensors}
                for parameter, slot, field, dtype in readings:
                    value = returned[slot][field]
                    if value.dtype is not dtype:
                        value = value.to(dtype)
                        converted.append(value)
                    given[parameter] = value
                if takes_reference:
                    given[REFERENCE] = [*references]
                found = module(**given)  # a copy of it is kept: the module may fill its dictionary again
                found = {**found} if type(found) is dict else node.component.held(found, len(references))
                returned[own] = found
                try:
                    written = [*map(WRITES, found.values())]  # by no function of its own: between two calls each costs
                except RuntimeError:
                    written = writes_to(found.values())
                called.append(Called(given, found, written, time.monotonic()))
        except Exception:  # noqa: BLE001  # whatever it is: the step itself lets it be raised again, and says where
            return None
        if any(writes_to(converted)) or not lent.is_unwritten() or writes != writes_to(others):
            return None
        return called

    def found(self, called: Sequence[Called], size: int) -> list[dict[str, Tensor]] | None:
        """What they returned, as it is declared; None where one is not, or was written to."""
        found: list[dict[str, Tensor]] = []
        for calling, each, declared in zip(self.callings, called, self._declared(size), strict=True):
            returned = each.returned
            if writes_to(returned.values()) != each.writes:
                return None
            if [(name, value.shape, value.dtype) for name, value in returned.items()] == declared:  # as most, at once
                found.append(returned)
                continue
            try:
                found.append(calling.node.component.held(returned, size))
            except ContractError:
                return None
        return found

    def _declared(self, size: int) -> Sequence[Declared]:
        """What each is said to return for that many rows; kept for the last number of them."""
        if self._of_size[0] != size:
            self._of_size = size, [_declared(each.node.component.signature.shapes, size) for each in self.callings]
        return self._of_size[1]

    def events(
        self,
        batch: Underway,
        cohort: Cohort,
        called: Sequence[Called],
        found: Sequence[ByName],
        started: float,
        choices: Mapping[int, Mapping[str, Choices]],
    ) -> Iterator[Computed]:
        """What is noted of each; of choices, by slot, that were drawn already. Raises NoChoiceError, as a step does."""
        for calling, each, tensors in zip(self.callings, called, found, strict=True):
            node = calling.node
            made = Made(each.given, tensors, node.read, started, each.ended, choices.get(calling.slot))
            yield node.event_of(batch, cohort, made)
            started = each.ended


@dataclass(slots=True)
class Tried:
    """All modules of a workflow, called before anything was noted."""

    began: tuple[float, int]
    """When: as `time.monotonic` and `time.time_ns` have it."""
    called: list[Called] | None = None


def note(batch: Underway, cohort: Cohort, events: Iterable[Computed]) -> None:
    """Let what comes after read of it, and the records tell."""
    for event in events:
        cohort.frame.put(event.op.slot, event.output)
        batch.events.append(event)


def _declared(shapes: Mapping[str, Shape], size: int) -> Declared:
    return [(name, torch.Size((size, *shape.dims)), dtype_of(shape)) for name, shape in shapes.items()]
