"""What a step outside is asked and answers, as numbers: by its schemas, and by the modules that it reads from."""

import math
from collections.abc import Mapping
from typing import Any

from stretto.components.torch.shape import DType, OneOf, Shape, Tensorial
from stretto.learn.differentiable.inside import InsideNode
from stretto.learn.differentiable.node import Node
from stretto.learn.differentiable.outside import OutsideNode
from stretto.learn.differentiable.reading import Source
from stretto.plan.expr.access import PathOf
from stretto.types.json import Json, JsonObject, Schema

_NUMBERS = frozenset({"number", "integer", "boolean"})


def asked_of(node: OutsideNode, writers: Mapping[int, Node]) -> tuple[dict[str, Tensorial], list[str]]:
    """Each input as numbers, and those that are none. `writers`: who writes a slot, of the steps before."""
    properties = _properties(node.call.component.card.input)
    found: dict[str, Tensorial] = {}
    wrong: list[str] = []
    for name, source in node.inputs:
        what = _written(source, writers) or _numbers(properties.get(name))
        if what is None:
            wrong.append(name)
        else:
            found[name] = what
    return found, wrong


def answered_by(node: OutsideNode) -> tuple[dict[str, Shape], list[str]]:
    """Each field of the answer that is numbers, and those that are none."""
    properties = _properties(node.call.component.card.output)
    shapes = {name: _numbers(schema) for name, schema in properties.items()}
    found = {name: shape for name, shape in shapes.items() if isinstance(shape, Shape)}
    return found, [name for name in properties if name not in found]


def width_of(what: Tensorial) -> int:
    """How many numbers it is."""
    return len(what.alternatives) if isinstance(what, OneOf) else math.prod(what.dims)


def _written(source: Source, writers: Mapping[int, Node]) -> Tensorial | None:
    """What a path reads, where a module writes it as tensors."""
    if not isinstance(source, PathOf) or len(source.parts) != 1:
        return None
    node, field = writers.get(source.slot), str(source.parts[0])
    if not isinstance(node, InsideNode):
        return None
    signature = node.component.signature
    if field in signature.chooses:
        return OneOf(*signature.chooses[field])
    shape = signature.outputs.get(field)
    return None if shape is None or field in signature.texts else Shape(*shape.dims, dtype=DType.FLOAT64)


def _properties(schema: Schema) -> Mapping[str, Any]:
    found = schema.get("properties", {})
    return found if isinstance(found, Mapping) else {}


def _numbers(schema: Json | Schema) -> Tensorial | None:
    """What a schema allows, as numbers; None where that is text, an object, or a list of any length."""
    schema = _but_null(schema)
    if not isinstance(schema, Mapping):
        return None
    names = schema.get("enum")
    if isinstance(names, list) and len(names) > 1 and all(isinstance(name, str) for name in names):
        return OneOf(*(str(name) for name in names))
    dims = []
    while schema.get("type") == "array" and schema.get("minItems") == schema.get("maxItems"):
        count, items = schema.get("maxItems"), schema.get("items")
        if not isinstance(count, int) or count < 1 or not isinstance(items, Mapping):
            return None
        dims.append(count)
        schema = items
    return Shape(*dims, dtype=DType.FLOAT64) if schema.get("type") in _NUMBERS else None


def _but_null(schema: Json | Schema) -> Json | Schema:
    """A schema that also allows null, without it."""
    if not isinstance(schema, Mapping):
        return schema
    either, kind = schema.get("anyOf"), schema.get("type")
    if isinstance(either, list):
        others: list[JsonObject] = [each for each in either if isinstance(each, dict) and each.get("type") != "null"]
        return others[0] if len(others) == 1 else None
    if isinstance(kind, list):
        kinds = [each for each in kind if each != "null"]
        return {**schema, "type": kinds[0]} if len(kinds) == 1 else None
    return schema
