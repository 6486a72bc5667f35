"""How what learning modules computed flows on, and where a step outside ends its gradient.

Decided once, on the plan: of each place that a mapping may read, whose numbers stand there. A choice is nobody's: its
estimator learns from all that follows. An expression ends a gradient, as is told of it, so nothing is followed through.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, assert_never

from stretto.components.torch.signature import PROBABILITIES
from stretto.learn.differentiable.inner import SubNode
from stretto.learn.differentiable.inside import InsideNode
from stretto.learn.differentiable.items import MapNode
from stretto.learn.differentiable.node import Node
from stretto.learn.differentiable.outside import OutsideNode
from stretto.learn.differentiable.reading import Each, Expression, Source
from stretto.learn.differentiable.remote import RemoteNode
from stretto.learn.differentiable.rounds import LoopNode
from stretto.plan.expr.access import FirstOf, ObjectOf, PathOf
from stretto.plan.model import INPUT
from stretto.types.enums import Estimator
from stretto.types.errors import UsageError
from stretto.types.json import PathPart


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """What a learning module computed, at some place further on."""

    module: str
    """The step that computed."""
    cut: str = ""
    """The step outside that it went through, which ended its gradient; empty while it has one."""
    is_carried: bool = False
    """A later round reads it."""
    passed: str = ""
    """The step outside whose surrogate it went through."""


Streams: TypeAlias = frozenset[Stream]

Told: TypeAlias = "Streams | Mapping[str, Told]"
"""What flows into a value: into all of it, or field by field."""

NOTHING: Streams = frozenset()


@dataclass(slots=True)
class Flow:
    """What flows where in a workflow."""

    learning: Collection[str]
    """Components that learn."""
    cycles: dict[tuple[Stream, str, str], None] = field(default_factory=dict)
    """What came back into a module with its gradient lost: with the module's step, and the loop's."""
    asked: dict[str, Streams] = field(default_factory=dict)
    """What a step outside is asked, by its place."""
    passed: set[str] = field(default_factory=set)
    """Steps outside whose surrogate a module's gradient goes into."""

    def block(self, nodes: Sequence[Node], frame: dict[int, Told], loop: str = "") -> None:
        """Follow what flows through the steps of a block, whose slots `frame` holds."""
        for node in nodes:
            frame[node.op.slot] = self._of(node, frame, loop)

    def _of(self, node: Node, frame: dict[int, Told], loop: str) -> Told:
        match node:
            case InsideNode():
                return self._inside(node, frame, loop)
            case RemoteNode() if node.call.estimator is not Estimator.SURROGATE:
                return self._remote(node, frame)
            case OutsideNode():
                return self._outside(node, frame)
            case LoopNode():
                return self._rounds(node, frame)
            case MapNode():
                own = {**frame, node.map.item_slot: read(node.over, frame)}
                self.block(node.body, own, loop)
                return {"items": read(node.result, own)}
            case SubNode():
                own = {INPUT: {name: read(source, frame) for name, source in node.inputs}}
                self.block(node.body, own, loop)
                return {name: read(source, own) for name, source in node.output}
            case _:
                raise AssertionError(node)

    def _inside(self, node: InsideNode, frame: Mapping[int, Told], loop: str) -> Told:
        signature = node.component.signature
        carrying = {tensor.name for tensor in signature.tensors if tensor.carries}
        streams = union(read(source, frame) for name, source in node.inputs if name in carrying)
        self.passed |= {each.passed for each in streams if each.passed}
        self.cycles |= dict.fromkeys((each, node.place, loop) for each in streams if each.is_carried)
        if node.name in self.learning:
            streams |= {Stream(module=node.place)}
        told: dict[str, Told] = dict.fromkeys(signature.outputs, streams)
        told |= {name + PROBABILITIES: streams for name in signature.chooses}
        return told | dict.fromkeys([*signature.chooses, *signature.texts], NOTHING)

    def _remote(self, node: RemoteNode, frame: Mapping[int, Told]) -> Told:
        carrying = {tensor.name for tensor in node.tensors.inputs}
        streams = union(read(source, frame) for name, source in node.inputs if name in carrying)
        return {tensor.name: streams for tensor in node.tensors.outputs}

    def _outside(self, node: OutsideNode, frame: Mapping[int, Told]) -> Told:
        streams = union(read(source, frame) for _, source in node.inputs)
        self.asked[node.place] = self.asked.get(node.place, NOTHING) | streams
        if node.call.estimator is Estimator.SURROGATE:
            return frozenset(each if each.cut else replace(each, passed=node.place) for each in streams)
        return frozenset(each if each.cut else replace(each, cut=node.place) for each in streams)

    def _rounds(self, node: LoopNode, frame: Mapping[int, Told]) -> Told:
        carried = [read(source, frame) for source in node.starts]
        while True:
            own = {**frame, **{each.slot: told for each, told in zip(node.loop.carries, carried, strict=True)}}
            self.block(node.body, own, node.place)
            following = [_carried(NOTHING if each is None else read(each, own)) for each in node.nexts]
            grown = [_both(old, new) for old, new in zip(carried, following, strict=True)]
            if grown == carried:
                break
            carried = grown
        last = {name: _left(own.get(slot, NOTHING)) for name, slot in node.loop.results}
        carry = {each.name: _left(told) for each, told in zip(node.loop.carries, carried, strict=True)}
        return {"last": last, "carry": carry}


def follow(nodes: Sequence[Node], learning: Collection[str]) -> Flow:
    """Follow what the modules of these components compute through a workflow."""
    flow = Flow(learning)
    flow.block(nodes, {})
    return flow


def hold_cycles(flow: Flow) -> None:
    """Raise UsageError where what a module computed goes round through a step outside that ends its gradient."""
    told = dict.fromkeys(
        f"\n  - in '{loop}', what '{stream.module}' computes goes through '{stream.cut}', which is no module, and "
        f"comes back into '{reader}' in a later round"
        for stream, reader, loop in flow.cycles
    )
    if told:
        raise UsageError(
            f"a gradient would be lost on its way round:{''.join(told)}\nLet a step choose what it is asked (an "
            "estimator learns from the choice), give it `estimator: surrogate` (biased), or declare what comes back "
            "among the `context` of the module that reads it, if no gradient is meant"
        )


def read(source: Source, frame: Mapping[int, Told]) -> Told:
    """What flows into what a source reads."""
    match source:
        case Each():
            return _below(read(source.items, frame), source.parts)
        case Expression():
            return NOTHING
        case PathOf():
            return _below(frame.get(source.slot, NOTHING), source.parts)
        case FirstOf():
            return union(read(each, frame) for each in source.readings)
        case ObjectOf():
            return {name: read(each, frame) for name, each in source.fields}
        case _:
            assert_never(source)


def union(all_of: Iterable[Told]) -> Streams:
    """Everything that flows into some values."""
    found: set[Stream] = set()
    for told in all_of:
        found |= told if isinstance(told, frozenset) else union(told.values())
    return frozenset(found)


def _below(told: Told, parts: Iterable[PathPart]) -> Told:
    for part in parts:
        if isinstance(told, Mapping) and isinstance(part, str):
            told = told.get(part, NOTHING)
    return told


def _carried(told: Told) -> Told:
    if isinstance(told, Mapping):
        return {name: _carried(each) for name, each in told.items()}
    return frozenset(replace(each, is_carried=True) if each.cut else each for each in told)


def _left(told: Told) -> Told:
    """What comes out of a loop, where no later round reads it."""
    if isinstance(told, Mapping):
        return {name: _left(each) for name, each in told.items()}
    return frozenset(replace(each, is_carried=False) for each in told)


def _both(one: Told, other: Told) -> Told:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return {name: _both(one.get(name, NOTHING), other.get(name, NOTHING)) for name in {**one, **other}}
    return union([one, other])
