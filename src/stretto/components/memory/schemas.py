"""What a memory is asked and what it answers, as JSON Schema."""

from typing import Final

from stretto.components.memory.settings import MemorySearch, MemorySettings
from stretto.types.json import JsonObject, Schema

REMEMBER: Final = "remember"
"""Input field with the value to keep, and the action of keeping it."""

FORGET: Final = "forget"
"""Input field that says that all is to be forgotten, and the action of doing so."""

QUERY: Final = "query"

TOP: Final = "top"


def input_schema(settings: MemorySettings) -> Schema:
    """Of a memory that is searched also what to search for."""
    properties: JsonObject = {
        REMEMBER: {"description": "what to keep; null keeps nothing"},
        FORGET: {
            "type": ["boolean", "null"],
            "description": "forget all of this tenant and scope, before anything is remembered",
        },
        "limit": {"type": "integer", "minimum": 0, "maximum": settings.keep, "default": settings.limit},
    }
    search = settings.searches
    if search is not None:
        properties |= _search_properties(search, settings)
    return {"type": "object", "properties": properties, "required": [], "additionalProperties": False}


def _search_properties(search: MemorySearch, settings: MemorySettings) -> JsonObject:
    return {
        QUERY: {
            "type": ["string", "null"],
            "pattern": r"\S",
            "maxLength": search.max_chars,
            "description": "text that what is found is near to; null searches for nothing",
        },
        TOP: {"type": "integer", "minimum": 0, "maximum": settings.keep, "default": settings.top},
    }


def output_schema(settings: MemorySettings) -> Schema:
    """`found` is there when there was a query."""
    properties: JsonObject = {"recent": {"type": "array"}}
    if settings.searches is not None:
        properties["found"] = {"type": "array", "items": _FOUND}
    return {"type": "object", "properties": properties, "required": ["recent"], "additionalProperties": False}


_FOUND: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "value": {"description": "as it was remembered"},
        "score": {"type": "number", "minimum": -1, "maximum": 1},
        "source": {"type": "string", "description": "run and step that remembered it"},
    },
    "required": ["value", "score", "source"],
    "additionalProperties": False,
}
