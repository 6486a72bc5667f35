"""What a choice is computed from: its component, and those of kind ``torch`` before it whose tensors it was given.

Gradients pass through all of them, so that a choice is attributed to what came in before the first, and not to states
that mean nothing to anybody.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from torch import Tensor

from stretto.components.torch.component import TorchComponent
from stretto.components.torch.shape import Shape
from stretto.components.torch.signature import PROBABILITIES, TensorField
from stretto.components.torch.values import tensor_of
from stretto.learn.explain.recorded import answered_itself
from stretto.plan.expr.access import PathOf, reading_of
from stretto.plan.model import AnyOp, CallOp, Plan, SubOp, block_in
from stretto.record.model import StepRecord
from stretto.types.json import JsonObject

Asked: TypeAlias = Mapping[str, JsonObject]
"""What each step of a chain was asked in one run, by its path."""


@dataclass(frozen=True, kw_only=True)
class Link:
    """One step of a chain."""

    path: str
    component: TorchComponent
    """With modules of its own, so that hooks disturb nobody who uses the component meanwhile; weights are shared."""
    feeds: Mapping[str, tuple["Link", str]] = field(default_factory=dict)
    """Input → the step before it, and which of its outputs."""
    leaves: Mapping[str, str] = field(default_factory=dict)
    """Input that carries a gradient and that no step of the chain feeds → its name among all that comes in."""
    prefix: str = ""
    """Before the names of its layers."""

    def all(self) -> Iterator["Link"]:
        """This one and those before it, each once."""
        seen: dict[str, Link] = {self.path: self}
        for before, _ in self.feeds.values():
            seen |= {each.path: each for each in before.all()}
        return iter(seen.values())


def alone(component: TorchComponent) -> Link:
    """A component by itself; what comes in has the names of its inputs."""
    names = [each.name for each in component.signature.tensors if each.carries]
    return Link(path="", component=component.shadow(component.module), leaves={name: name for name in names})


def chain_to(plan: Plan, steps: Mapping[str, StepRecord], step: StepRecord) -> Link:
    """The chain that ends at a recorded step of the plan; names of what it reads and has are those without the step."""
    scope, _, name = step.path.rpartition("/")
    return _Linking(plan, steps, scope).link(name, is_last=True)


class Chains:
    """Chains to several steps of one run, which have the links before them in common."""

    def __init__(self, plan: Plan, steps: Mapping[str, StepRecord]) -> None:
        self._plan = plan
        self._steps = steps
        self._scopes: dict[str, _Linking] = {}

    def to(self, path: str) -> Link:
        """The chain that ends at a recorded step."""
        scope, _, name = path.rpartition("/")
        if scope not in self._scopes:
            self._scopes[scope] = _Linking(self._plan, self._steps, scope)
        return self._scopes[scope].link(name)


class _Linking:
    """Finds the steps before a step that stand beside it, by what its inputs read."""

    def __init__(self, plan: Plan, steps: Mapping[str, StepRecord], scope: str) -> None:
        self._components = plan.components
        self._steps = steps
        self._scope = f"{scope}/" if scope else ""
        ops, self._slots = _beside(plan, scope)
        self._ops = {each.name: each for each in ops}
        self._by_slot = {each.slot: each for each in ops}
        self._made: dict[str, Link] = {}

    def link(self, name: str, *, is_last: bool = False) -> Link:
        if name not in self._made:
            self._made[name] = self._link(name, is_last)
        return self._made[name]

    def _link(self, name: str, is_last: bool) -> Link:
        op = self._ops.get(name)
        component = self._components[self._steps[self._scope + name].component]
        assert isinstance(component, TorchComponent)
        reads = {key: reading_of(get) for key, get in op.inputs} if isinstance(op, CallOp) else {}
        feeds: dict[str, tuple[Link, str]] = {}
        leaves: dict[str, str] = {}
        for tensor in component.signature.tensors:
            reading = reads.get(tensor.name)
            if not tensor.carries:
                continue
            if isinstance(reading, PathOf) and (before := self._before(reading, tensor)):
                feeds[tensor.name] = self.link(before), str(reading.parts[0])
            elif isinstance(reading, PathOf) and 0 <= reading.slot < len(self._slots):
                leaves[tensor.name] = self._source(reading)
            else:
                leaves[tensor.name] = tensor.name if is_last else f"{name}.{tensor.name}"
        path, prefix = self._scope + name, "" if is_last else f"{name}."
        return Link(path=path, component=component.shadow(component.module), feeds=feeds, leaves=leaves, prefix=prefix)

    def _source(self, reading: PathOf) -> str:
        """Where something was read, without ``steps.``: what several steps read has one name."""
        before = self._by_slot.get(reading.slot)
        root = self._slots[reading.slot] if before is None else before.name
        return ".".join([root.removeprefix("steps."), *map(str, reading.parts)])

    def _before(self, reading: PathOf, tensor: TensorField) -> str | None:
        """The step that answered itself with this tensor, which was passed on as it was."""
        op = self._by_slot.get(reading.slot)
        record = None if op is None else self._steps.get(self._scope + op.name)
        if record is None or not answered_itself(record) or len(reading.parts) != 1:
            return None
        component = self._components.get(record.component)
        if not isinstance(op, CallOp) or not isinstance(component, TorchComponent):
            return None
        output = _told(component).get(str(reading.parts[0]))
        fits = output is not None and isinstance(tensor.what, Shape) and tensor.what.dims == output.dims
        return op.name if fits else None


def _beside(plan: Plan, scope: str) -> tuple[Sequence[AnyOp], Sequence[str]]:
    """The steps that stand side by side at a path, of the plan, a loop, or a sub-workflow; and what its slots hold."""
    ops: Sequence[AnyOp] = plan.body.ops
    slots = plan.slot_names
    for part in scope.split("/") if scope else ():
        op = next((each for each in ops if each.name == part.partition("[")[0]), None)
        block = None if op is None else block_in(op)
        ops = () if block is None else block.ops
        slots = op.plan.slot_names if isinstance(op, SubOp) else slots
    return ops, slots


def _told(component: TorchComponent) -> dict[str, Shape]:
    """Tensors that a component answers with, the probabilities of its choices too; which was chosen has no gradient."""
    signature = component.signature
    chances = {name + PROBABILITIES: Shape(len(among)) for name, among in signature.chooses.items()}
    return {**signature.outputs, **chances}


def asked_in(link: Link, steps: Mapping[str, StepRecord]) -> Asked | None:
    """What the steps of a chain were asked in a run; None where one of them did not answer itself in it."""
    asked: dict[str, JsonObject] = {}
    for each in link.all():
        record = steps.get(each.path)
        if record is None or record.component != each.component.options.name or not answered_itself(record):
            return None
        asked[each.path] = record.input_value
    return asked


def inputs_of(link: Link, asked: Sequence[Asked]) -> dict[str, Tensor]:
    """All that comes in and carries gradients, a row for each run."""
    found: dict[str, Tensor] = {}
    for each in link.all():
        for tensor in each.component.signature.tensors:
            if tensor.name in each.leaves:
                rows = [one[each.path].get(tensor.name) for one in asked]
                found[each.leaves[tensor.name]] = tensor_of(rows, tensor.what)
    return found
