"""What one module hands to another, where the plan tells: numbers that a gradient passes, and words of one kind."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import torch
from torch import Tensor, nn

from stretto.learn.differentiable.inner import SubNode
from stretto.learn.differentiable.inside import InsideNode
from stretto.learn.differentiable.items import MapNode
from stretto.learn.differentiable.node import Node
from stretto.learn.differentiable.reading import Source
from stretto.learn.differentiable.rounds import LoopNode
from stretto.plan.expr.access import FirstOf, PathOf
from stretto.types.errors import UsageError

MOST_APART: Final = 0.5
"""By which tables of embeddings of one model may differ, as a share of their length: what fine-tuning changes is some
hundredths, and two that were trained apart differ by about the root of 2."""


def hold_joints(nodes: Sequence[Node], modules: Mapping[str, nn.Module]) -> None:
    """Raise UsageError where a module is handed integers among its `inputs`, or words of another model's."""
    told = dict.fromkeys(why for joint in _joints(nodes, {}) for why in _why_not(*joint, modules))
    if told:
        raise UsageError("what a module is handed does not fit:" + "".join(f"\n  - {each}" for each in told))


def _joints(nodes: Sequence[Node], writers: Mapping[int, Node]) -> Iterator[tuple[InsideNode, str, InsideNode, str]]:
    """Writer and output, reader and input, of all inputs of modules that are said to carry a gradient."""
    known = dict(writers)
    for node in nodes:
        if isinstance(node, InsideNode):
            carrying = {each.name for each in node.component.signature.tensors if each.carries}
            for name, source in node.inputs:
                for slot, field in _fields(source) if name in carrying else ():
                    writer = known.get(slot)
                    if isinstance(writer, InsideNode):
                        yield writer, field, node, name
        elif isinstance(node, MapNode | LoopNode | SubNode):
            yield from _joints(node.body, {} if isinstance(node, SubNode) else known)
        known[node.op.slot] = node


def _fields(source: Source) -> Iterator[tuple[int, str]]:
    """Slot and field of each output that a source may read."""
    if isinstance(source, FirstOf):
        for each in source.readings:
            yield from _fields(each)
    elif isinstance(source, PathOf) and len(source.parts) == 1:
        yield source.slot, str(source.parts[0])


def _why_not(
    writer: InsideNode, field: str, reader: InsideNode, name: str, modules: Mapping[str, nn.Module]
) -> Iterator[str]:
    signature = writer.component.signature
    shape = None if field in signature.texts else signature.outputs.get(field)
    if shape is None:
        return
    ways = f"'{field}' of step '{writer.place}' goes to the input '{name}' of step '{reader.place}'"
    if not shape.dtype.is_real:
        yield (
            f"{ways}, which is said to carry a gradient, and is of integers ({shape.dtype}), which none passes; put "
            f"'{name}' among the `context` of component '{reader.name}', or let '{writer.name}' answer real numbers"
        )
        return
    said, read = _table(modules[writer.name], field), _table(modules[reader.name], name)
    if said is not None and read is not None and not _is_one(said, read):
        yield (
            f"{ways}, whose model has other embeddings than that of component '{writer.name}': it would read them as "
            f"other words. Give both one model, hand on the text, or put a module between that learns to translate"
        )


def _table(module: nn.Module, field: str) -> Tensor | None:
    """The table of embeddings [V, D] that a field is made of or read as; None where it is of none."""
    table_of = getattr(module, "table_of", None)
    table: Tensor | None = table_of(field) if callable(table_of) else None
    return table


def _is_one(said_VD: Tensor, read_VD: Tensor) -> bool:
    if said_VD is read_VD:
        return True
    if said_VD.shape != read_VD.shape:
        return False
    with torch.no_grad():
        here = said_VD.float()
        return float((here - read_VD.to(here)).norm()) <= MOST_APART * float(here.norm())
