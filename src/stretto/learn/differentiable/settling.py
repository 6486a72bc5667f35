"""Which estimator each choice is learnt by: what the file says, held to what it can do, or a sound default.

A choice is enumerated by default where that costs no call outside and few inside: every step after it is a module, and
all such choices of the workflow together have few ways. Else it is scored.
"""

from collections.abc import Sequence
from typing import Final

from stretto.components.torch.component import TorchComponent
from stretto.components.torch.shape import OneOf
from stretto.learn.differentiable.building import calls_of, inside_of
from stretto.learn.differentiable.downstream import Downstream, may_read
from stretto.learn.differentiable.inside import InsideNode
from stretto.learn.differentiable.node import Node
from stretto.learn.differentiable.relaxing import RELAXING
from stretto.plan.model import CallOp
from stretto.types.enums import Effect, Estimator
from stretto.types.errors import UsageError

MOST_WAYS: Final = 16
"""Rows that one run becomes by default: beyond that, more runs teach more than more alternatives of one."""


def settle_estimators(nodes: Sequence[Node], downstream: Downstream) -> None:
    """Decide for each step that chooses. Raises UsageError for what its file says and cannot be done."""
    ways = 1
    for node in inside_of(nodes):
        asked = node.call.estimator
        if asked is Estimator.SURROGATE:
            raise _refused(node, "it has no effect: gradients pass its component as it is")
        if not node.component.signature.chooses:
            continue
        why = _why_not_enumerated(node, nodes)
        if asked is None:
            many = len(next(iter(node.component.signature.chooses.values())))
            changes = downstream.terms(node.place)
            if why is None and changes and _is_all_inside(node, nodes) and ways * many <= MOST_WAYS:
                node.estimator = Estimator.ENUMERATE
                ways *= many
        elif not node.component.options.sample:
            raise _refused(node, "its component takes the likeliest, and draws nothing: sample is false")
        elif asked is Estimator.ENUMERATE and why is not None:
            raise _refused(node, f"{why}. `relax` and `score` draw one, and are unbiased too")
        elif asked is Estimator.RELAX and not downstream.terms(node.place):
            raise _refused(node, "it has no effect: no term that the reward counts lies downstream of the choice")
        elif asked in RELAXING and not _is_read_inside(node, nodes):
            raise _refused(node, "it has no effect: no module reads the choice as a OneOf among its `inputs`")


def _why_not_enumerated(node: InsideNode, nodes: Sequence[Node]) -> str | None:
    """Why a step's alternatives cannot each be run on; None when they can."""
    if not node.component.options.sample:
        return "its component takes the likeliest"
    if len(node.component.signature.chooses) > 1:
        return "its component makes several choices at once"
    if node not in nodes:
        return "it stands inside another step, whose result is one"
    writes = [
        call.component_name for call in _after(node, nodes) if Effect.WRITE in call.component.card.effects.values()
    ]
    if writes:
        return f"'{writes[0]}' is called after it and may write, which no alternative may that was not chosen"
    return None


def _after(node: InsideNode, nodes: Sequence[Node]) -> list[CallOp]:
    """The calls after a step, downstream or not: all are made for each alternative."""
    return [*calls_of(nodes[nodes.index(node) + 1 :])]


def _is_all_inside(node: InsideNode, nodes: Sequence[Node]) -> bool:
    return all(isinstance(call.component, TorchComponent) for call in _after(node, nodes))


def _is_read_inside(node: InsideNode, nodes: Sequence[Node]) -> bool:
    """Whether a gradient of what reads the choice reaches it."""
    slot, chosen = node.op.slot, node.component.signature.chooses
    return any(
        may_read(source, slot, chosen) and isinstance(tensor.what, OneOf)
        for other in inside_of(nodes)
        for name, source in other.inputs
        for tensor in other.component.signature.tensors
        if tensor.name == name and tensor.carries
    )


def _refused(node: InsideNode, why: str) -> UsageError:
    return UsageError(f"step '{node.place}' cannot have the estimator '{node.call.estimator}': {why}")
