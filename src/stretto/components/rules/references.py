"""Follows the references inside a JSON Schema: ``$ref`` with a JSON Pointer (RFC 6901) into the same schema."""

from typing import Final
from urllib.parse import unquote

from stretto.types.json import Json, JsonObject, Schema

MAX_HOPS: Final = 20
"""A reference to a reference; schemas that people write have one or two, and those that lead in a circle no end."""


def followed(at: Json, root: Schema) -> Json:
    """What a schema stands for: itself, or what its reference is to; what stands beside a reference is passed over."""
    for _ in range(MAX_HOPS):
        reference = at.get("$ref") if isinstance(at, dict) else None
        if not isinstance(reference, str) or not reference.startswith("#"):
            break
        at = _pointed(reference[1:], root)
    return at


def _pointed(pointer: str, root: Schema) -> Json:
    at: Json = dict(root)
    for part in unquote(pointer).split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(at, list) and name.isdecimal() and int(name) < len(at):
            at = at[int(name)]
        elif isinstance(at, dict) and name in at:
            at = at[name]
        else:
            return {}
    return at


def says_more(schema: JsonObject) -> bool:
    """Whether a schema says more of its fields than ``properties`` does: by alternatives, conditions or references."""
    return not _FURTHER.isdisjoint(schema)


_FURTHER: Final = frozenset(
    {"$ref", "allOf", "anyOf", "oneOf", "not", "if", "patternProperties", "dependentSchemas", "dependentRequired"}
)
