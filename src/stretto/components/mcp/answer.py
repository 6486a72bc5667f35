"""What a tool answered, as the output of a component.

A tool that reports a failure has answered: ``ok`` is false and the run goes on with that fact, since an API that says
no is data that a planner must learn to handle. Only a server that cannot be asked is an error of the component.
"""

from typing import Any, Final

import msgspec
from mcp_types import CallToolResult, TextContent

from stretto.types.json import Json, JsonObject

NO_TEXT: Final = "the tool reported an error and no text about it"


def output_of(result: CallToolResult) -> JsonObject:
    """``{"ok": true, "result": ...}``, or ``{"ok": false, "result": ..., "error": text}``."""
    output: JsonObject = {"ok": not result.is_error, "result": _value(result)}
    if result.is_error:
        output["error"] = _text(result) or NO_TEXT
    return output


def _value(result: CallToolResult) -> Json:
    """The structured content; without it the text, parsed when it is a JSON object or array; else the blocks."""
    if result.structured_content is not None:
        structured: Json = result.structured_content
        return structured
    if not result.content:
        return None
    if len(result.content) == 1 and isinstance(result.content[0], TextContent):
        return _parsed(result.content[0].text)
    return [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in result.content]


def _parsed(text: str) -> Json:
    """Older servers answer with JSON in text. A bare ``7`` or ``null`` stays text: it may be one."""
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        value: Any = msgspec.json.decode(text)  # keeps the digits of a long integer, which the record refuses by name
    except (msgspec.DecodeError, RecursionError):
        return text
    parsed: Json = value
    return parsed


def _text(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))
