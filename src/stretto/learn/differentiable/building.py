"""From a Plan to the batch interpreter's steps, and what it cannot do."""

from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

from stretto.components.torch.component import TorchComponent
from stretto.learn.differentiable.inner import SubNode
from stretto.learn.differentiable.inside import InsideNode
from stretto.learn.differentiable.items import MapNode
from stretto.learn.differentiable.node import Node
from stretto.learn.differentiable.outside import OutsideNode
from stretto.learn.differentiable.remote import RemoteNode, pulls_back
from stretto.learn.differentiable.remote_check import Checking
from stretto.learn.differentiable.rounds import LoopNode
from stretto.plan.model import AnyOp, Block, CallOp, LoopOp, MapOp, Plan, SubOp, block_in
from stretto.types.errors import UsageError


def steps_of(plan: Plan) -> list[Node]:
    """The steps of a workflow. Raises UsageError, with every reason, for one that only the engine can run."""
    if found := refusals(plan):
        listed = "".join(f"\n  - {each}" for each in found)
        raise UsageError(f"workflow '{plan.name}' cannot be run as a module:{listed}\nRun it with `workflow.run`")
    return build(plan.body, plan.slots)


def build(block: Block, length: int, prefix: str = "") -> list[Node]:
    """The steps of a block and of those inside."""
    return [_node(op, length, prefix + op.name) for op in block.ops]


def _node(op: AnyOp, length: int, place: str) -> Node:
    match op:
        case CallOp(component=TorchComponent() as component):
            return InsideNode(op, component, length, place)
        case CallOp() if pulls_back(op):
            return RemoteNode(op, length, place)
        case CallOp():
            return OutsideNode(op, length, place)
        case MapOp():
            return MapNode(op, build(op.body, length, place if op.sole_call else f"{place}/"), length, place)
        case LoopOp():
            return LoopNode(op, build(op.body, length, f"{place}/"), length, place)
        case SubOp():
            return SubNode(op, build(op.plan.body, op.plan.slots, f"{place}/"), length, place)
        case _:
            assert_never(op)


def calling_of(nodes: Sequence[Node]) -> Iterator[InsideNode | OutsideNode]:
    """Every step that calls a component, also those inside others."""
    for node in nodes:
        if isinstance(node, InsideNode | OutsideNode):
            yield node
        elif isinstance(node, MapNode | LoopNode | SubNode):
            yield from calling_of(node.body)


def inside_of(nodes: Sequence[Node]) -> Iterator[InsideNode]:
    """Every differentiable step."""
    return (node for node in calling_of(nodes) if isinstance(node, InsideNode))


def remote_of(nodes: Sequence[Node]) -> Iterator[RemoteNode]:
    """Every step whose component pulls gradients back itself."""
    return (node for node in calling_of(nodes) if isinstance(node, RemoteNode))


def checked(nodes: Sequence[Node], every: int) -> Mapping[str, Checking]:
    """Of each step whose component pulls gradients back itself, how often those are checked: one row in so many.

    Raises UsageError for what is no number of rows.
    """
    if type(every) is not int or every < 0:
        raise UsageError(f"check_remote is {every!r}; expected a whole number of rows, or 0 to check none")
    found = {node.place: node.checking for node in remote_of(nodes)}
    for checking in found.values():
        checking.every = every
    return found


def hold_not_remote(nodes: Sequence[Node], name: str) -> None:
    """Raises UsageError for a component whose weights are elsewhere, and which is asked to learn here."""
    if any(node.call.component_name == name for node in remote_of(nodes)):
        raise UsageError(
            f"component '{name}' is frozen from here: its weights are where it is served, and only gradients of its "
            "inputs come back. Train it there, or declare its module in this workflow"
        )


def plain_outside_of(nodes: Sequence[Node]) -> Iterator[CallOp]:
    """Every call of a component that neither is a module nor pulls gradients back."""
    return (node.call for node in calling_of(nodes) if type(node) is OutsideNode)


def calls_of(nodes: Sequence[Node]) -> Iterator[CallOp]:
    """Every call that steps make, and what answers in their place."""
    for node in calling_of(nodes):
        yield node.call
        if node.call.fallback is not None and node.call.fallback.op is not None:
            yield node.call.fallback.op


def refusals(plan: Plan) -> list[str]:
    """What of a plan this interpreter cannot do, in words; empty when it can do all."""
    found = [f"{what} {why}" for what, why in _whole(plan)]
    return found + [f"step '{place}' {why}" for place, op in _ops(plan.body) for why in _why_not(op)]


def _whole(plan: Plan) -> Iterator[tuple[str, str]]:
    if plan.business is not None:
        yield "`fallback` of the workflow", "answers in place of a run, which teaches nothing of its choices"
    if plan.resources is not None:
        yield "`resources`", "is what probes tell at each step, which a batch does at another time"


def _ops(block: Block, prefix: str = "") -> Iterator[tuple[str, AnyOp]]:
    for op in block.ops:
        place = prefix + op.name
        yield place, op
        inner = block_in(op)
        if inner is not None:
            yield from _ops(inner, f"{place}/")


def _why_not(op: AnyOp) -> Iterator[str]:
    if isinstance(op, SubOp) and (op.crossings_in or op.crossings_out or op.plan.crossings_in or op.plan.crossings_out):
        yield "is a sub-workflow with values in semantic domains, which only the engine aligns"
    if isinstance(op, CallOp) and pulls_back(op) and (op.crossings_in or op.crossings_out):
        yield "pulls gradients back and has values in semantic domains, which have none"
    if not isinstance(op, CallOp) or not isinstance(op.component, TorchComponent):
        return
    if op.crossings_in or op.crossings_out:
        yield "is differentiable and has values in semantic domains, which only the engine aligns"
    if op.rejects is not None:
        yield "is differentiable and retries by `when`: a module answers the same again"
    if op.hedge is not None:
        yield "is differentiable and hedges: a module answers the same again"


def components_in(nodes: Sequence[Node]) -> Mapping[str, TorchComponent]:
    """The differentiable components, by name."""
    return {node.name: node.component for node in inside_of(nodes)}


def components_of(plan: Plan) -> Mapping[str, TorchComponent]:
    """Those of a workflow. Raises UsageError for one that only the engine can run, or that has none."""
    found = components_in(steps_of(plan))
    hold_some(found, plan.name)
    return found


def hold_some(components: Mapping[str, TorchComponent], workflow: str) -> None:
    """Raises UsageError where there are no differentiable components."""
    if not components:
        raise UsageError(
            f"workflow '{workflow}' has no differentiable component; declare one with @stretto.differentiable"
        )
