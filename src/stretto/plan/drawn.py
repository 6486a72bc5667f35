"""Values that a schema takes, drawn at random: any of an enumeration, anything in a range, either truth.

Of a text or a number without bounds nobody can say what a random one would be, so a schema with such has none.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from stretto.plan.check import Check
from stretto.plan.referred import DEEPEST, referred
from stretto.types.json import Json, Schema

_TRIES: Final = 20
"""Draws until one fits what a schema says beside its types; a schema that takes one in five fails once in a hundred."""

_LOW: Final = ("minimum", "exclusiveMinimum")
_HIGH: Final = ("maximum", "exclusiveMaximum")


class Drawing:
    """Draws objects that a schema takes."""

    def __init__(self, schema: Schema, domains: Mapping[str, Sequence[str]] | None = None) -> None:
        """`domains` says which texts may stand at a place, by its path without indices."""
        self._schema = schema
        self._domains = domains or {}
        self._check = Check(schema)

    def unbounded(self) -> list[str]:
        """Places where nobody can say what a random value would be; a schema with such is not drawn from."""
        return list(dict.fromkeys(path or "the whole" for path in self._unbounded(self._schema, "", 0)))

    def draw(self, chance: random.Random) -> Json:
        """A value that the schema takes. Raises LookupError where none was found."""
        for _ in range(_TRIES):
            value = self._value(self._schema, "", 0, chance)
            if self._check.is_valid(value):
                return value
        raise LookupError(f"none of {_TRIES} values that were drawn fits the schema")

    def _value(self, schema: Any, path: str, depth: int, chance: random.Random) -> Json:  # Any: a part of a JSON Schema
        schema = self._followed(schema)
        if path in self._domains:
            return chance.choice(self._domains[path])
        if "const" in schema:
            constant: Json = schema["const"]
            return constant
        if schema.get("enum"):
            one: Json = chance.choice(schema["enum"])
            return one
        branches = [each for each in _branches(schema) if not [*self._unbounded(each, path, depth + 1)]]
        if branches:
            return self._value(chance.choice(branches), path, depth + 1, chance)
        types = [each for each in _types(schema) if not self._is_free(each, schema)]
        return self._typed(chance.choice(types), schema, path, depth, chance) if types else None

    def _typed(self, kind: str, schema: Mapping[str, Any], path: str, depth: int, chance: random.Random) -> Json:
        match kind:
            case "object":
                return self._object(schema, path, depth, chance)
            case "array":
                least = schema.get("minItems", 0)
                count = chance.randint(least, schema["maxItems"])
                return [self._value(schema.get("items", {}), path, depth + 1, chance) for _ in range(count)]
            case "boolean":
                return chance.random() < 0.5
            case "integer":
                low, high = _range(schema)
                return chance.randint(int(low + ("minimum" not in schema)), int(high - ("maximum" not in schema)))
            case "number":
                return chance.uniform(*_range(schema))
            case _:
                return None

    def _object(self, schema: Mapping[str, Any], path: str, depth: int, chance: random.Random) -> Json:
        required = schema.get("required", ())
        return {
            name: self._value(inner, f"{path}.{name}".lstrip("."), depth + 1, chance)
            for name, inner in schema.get("properties", {}).items()
            if name in required or chance.random() < 0.5
        }

    def _unbounded(self, schema: Any, path: str, depth: int) -> Iterator[str]:
        schema = self._followed(schema)
        if path in self._domains or "const" in schema or schema.get("enum"):
            return
        if depth > DEEPEST:
            yield path
            return
        branches = _branches(schema)
        if branches:
            told = [[*self._unbounded(each, path, depth + 1)] for each in branches]
            yield from min(told, key=len)
            return
        types = _types(schema)
        if all(self._is_free(each, schema) for each in types):
            yield path
        if "object" in types:
            for name, inner in schema.get("properties", {}).items():
                yield from self._unbounded(inner, f"{path}.{name}".lstrip("."), depth + 1)
        elif "array" in types and not self._is_free("array", schema):
            yield from self._unbounded(schema.get("items", {}), path, depth + 1)

    def _is_free(self, kind: str, schema: Mapping[str, Any]) -> bool:
        """Whether values of a type may be anything."""
        match kind:
            case "integer" | "number":
                return not (any(word in schema for word in _LOW) and any(word in schema for word in _HIGH))
            case "array":
                return "maxItems" not in schema
            case "object":
                return "properties" not in schema
            case _:
                return kind not in ("boolean", "null")

    def _followed(self, schema: Any) -> Mapping[str, Any]:
        found = referred(schema, self._schema)
        return found if isinstance(found, Mapping) else {}


def _branches(schema: Mapping[str, Any]) -> list[Any]:
    return [each for word in ("anyOf", "oneOf") for each in schema.get(word) or ()]


def _types(schema: Mapping[str, Any]) -> list[str]:
    types = schema.get("type", "object" if "properties" in schema else "any")
    return types if isinstance(types, list) else [types]


def _range(schema: Mapping[str, Any]) -> tuple[float, float]:
    low = next(schema[word] for word in _LOW if word in schema)
    high = next(schema[word] for word in _HIGH if word in schema)
    return low, high
