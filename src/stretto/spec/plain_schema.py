"""Tells plain JSON Schema from shorthand: both are mappings, and both may have a key called `type`."""

from typing import Final

from stretto.spec.nodes import ListNode, MapNode, Node, ScalarNode
from stretto.types.json import Json, JsonObject

SCHEMA_KEY: Final = "schema"
"""A mapping of nothing but this key holds plain JSON Schema."""

_OF_LISTS: Final = ("type", "enum", "required", "oneOf", "anyOf", "allOf", "prefixItems")
"""Keywords that stand over a list. No type in shorthand is one."""

_OF_MAPPINGS: Final = (
    *("properties", "patternProperties", "dependentSchemas", "dependentRequired"),
    *("additionalProperties", "unevaluatedProperties", "propertyNames", "not"),
)
"""Keywords that stand over a mapping, and name nothing that people have fields for."""

_TYPES: Final = ("string", "number", "integer", "boolean", "array", "object", "null")

_OF_ONE_TYPE: Final = {"items": "array", "contains": "array"}
"""Keywords that people have fields for as well: beside another type they are fields."""

_KEYWORDS: Final = frozenset(
    {
        *_OF_LISTS, *_OF_MAPPINGS, *_OF_ONE_TYPE,
        "const", "if", "then", "else", "format", "pattern", "title", "description", "default", "examples",
        "deprecated", "readOnly", "writeOnly", "contentEncoding", "contentMediaType", "contentSchema",
        "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
        "minItems", "maxItems", "uniqueItems", "minContains", "maxContains", "unevaluatedItems",
        "minProperties", "maxProperties",
    }
)  # fmt: skip
"""JSON Schema 2020-12, Validation and Core; those that begin with `$` tell by themselves."""


def is_json_schema(node: MapNode) -> bool:
    """It is under `schema`, or has what only a JSON Schema has: `$ref`, `oneOf` over a list, `minLength: 3`."""
    only = node.get(SCHEMA_KEY) if len(node.entries) == 1 else None
    return (
        isinstance(only, MapNode)
        or any(key.startswith("$") for key in node.entries)
        or any(isinstance(node.get(key), ListNode) for key in _OF_LISTS)
        or any(isinstance(node.get(key), MapNode) for key in _OF_MAPPINGS)
        or _is_typed(node)
    )


def ambiguous_word(node: MapNode) -> str:
    """The type of what may be a JSON Schema, or fields one of which is called `type`; empty when it cannot be both.

    A text is not in doubt: as a whole input or output it would be no schema.
    """
    word = _type_of(node)
    return word if word in ("array", "object") and _KEYWORDS.issuperset(node.entries) else ""


def plain_schema_schema() -> JsonObject:
    """How the published schema says that plain JSON Schema may stand here."""
    lists: list[Json] = [{"required": [key], "properties": {key: {"type": "array"}}} for key in _OF_LISTS]
    maps: list[Json] = [{"required": [key], "properties": {key: {"type": "object"}}} for key in _OF_MAPPINGS]
    types: list[Json] = [*_TYPES]
    keywords: list[Json] = [*sorted(_KEYWORDS)]
    typed: JsonObject = {
        "required": ["type"],
        "properties": {"type": {"enum": types}},
        "propertyNames": {"enum": keywords},
        "not": {"additionalProperties": {"type": "string"}},
    }
    return {
        "type": "object",
        "description": "plain JSON Schema 2020-12",
        "anyOf": [
            {"required": [SCHEMA_KEY], "properties": {SCHEMA_KEY: {"type": "object"}}, "maxProperties": 1},
            {"not": {"propertyNames": {"not": {"pattern": "^\\$"}}}},
            *lists,
            *maps,
            typed,
        ],
    }


def _is_typed(node: MapNode) -> bool:
    """It has a JSON Schema's type, keywords only, and one of them over what is no type in shorthand."""
    word = _type_of(node)
    if word not in _TYPES or not _KEYWORDS.issuperset(node.entries):
        return False
    others = {key: entry.node for key, entry in node.entries.items() if key != "type"}
    return any(not _is_text(other) and _OF_ONE_TYPE.get(key, word) == word for key, other in others.items())


def _type_of(node: MapNode) -> str:
    kind = node.get("type")
    return kind.text if isinstance(kind, ScalarNode) else ""


def _is_text(node: Node) -> bool:
    return isinstance(node, ScalarNode) and isinstance(node.value, str)
