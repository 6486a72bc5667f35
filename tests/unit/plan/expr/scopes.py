"""A scope for tests: given roots, each a slot of the frame, with a JSON Schema or a type each."""

from collections.abc import Mapping
from typing import Any

from stretto.plan.expr import Leaf, UnknownPath, descend, path_getter
from stretto.plan.valuetype import ValueType, from_schema
from stretto.types.json import PathPart, render_path


class SchemaScope:
    """Roots in order of slots."""

    def __init__(self, schemas: Mapping[str, Any]) -> None:
        self._types = {
            name: schema if isinstance(schema, ValueType) else from_schema(schema) for name, schema in schemas.items()
        }
        self._slots = {name: slot for slot, name in enumerate(schemas)}

    def roots(self) -> frozenset[str]:
        return frozenset(self._types)

    def lookup(self, path: tuple[PathPart, ...]) -> Leaf:
        root = str(path[0])
        if root not in self._types:
            raise UnknownPath(path, 0, tuple(self._types), f"`{render_path(path)}` begins with no root")
        value_type = descend(self._types[root], path, 1)
        slot = self._slots[root]
        return Leaf(get=path_getter(slot, path[1:]), type=value_type, slots=frozenset({slot}))

    def frame(self, values: Mapping[str, Any]) -> list[Any]:
        """A frame with these values in the slots of their roots."""
        return [values.get(name) for name in self._slots]
