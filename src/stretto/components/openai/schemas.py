"""What a model takes and gives, as schemas that follow from its options."""

from typing import Final

from stretto.components.openai.formats import PARSED, schema_of_parsed, wants_json
from stretto.components.openai.settings import OpenAiSettings
from stretto.types.json import JsonObject

_MESSAGE: Final[JsonObject] = {"type": "object", "properties": {"role": {"type": "string"}}, "required": ["role"]}

_TOOL_CALL: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "name": {"type": "string"},
        "arguments": {"type": ["object", "null"]},
        "text": {"type": "string"},
    },
    "required": ["id", "name", "arguments"],
    "additionalProperties": False,
}
"""`arguments` is null, and `text` what the model wrote, when that is no JSON object."""

_ALTERNATIVE: Final[JsonObject] = {
    "type": "object",
    "properties": {"token": {"type": "string"}, "logprob": {"type": "number"}},
    "required": ["token", "logprob"],
    "additionalProperties": False,
}


def input_schema(settings: OpenAiSettings) -> JsonObject:
    """Messages or one prompt, and what a call may set for itself; null leaves it as declared."""
    properties: JsonObject = {
        "messages": {"type": "array", "items": _MESSAGE, "minItems": 1},
        "prompt": {"type": "string"},
        "temperature": {"type": ["number", "null"], "minimum": 0},
        "max_tokens": {"type": ["integer", "null"], "minimum": 1},
        "tools": {"type": ["array", "null"], "items": {"type": "object"}},
        "tool_choice": {"type": ["string", "null"]},
    }
    if settings.response_format is None:  # a declared form is what the output's schema promises
        properties["response_format"] = {"type": ["object", "null"]}
    return {
        "type": "object",
        "properties": properties,
        "oneOf": [{"required": ["messages"]}, {"required": ["prompt"]}],
        "additionalProperties": False,
    }


def output_schema(settings: OpenAiSettings) -> JsonObject:
    """The text and why it ended, the message as it goes back into a conversation, and what was asked for beside."""
    properties: JsonObject = {
        "text": {"type": "string"},
        "finish_reason": {"type": "string"},
        "message": _MESSAGE,
        "tool_calls": {"type": "array", "items": _TOOL_CALL},
        "reasoning": {"type": "string"},
        "refusal": {"type": "string"},
    }
    required = ["text", "finish_reason", "message"]
    if settings.tools:
        required.append("tool_calls")
    declared = settings.response_format
    if declared is None:
        properties[PARSED] = {}
    elif wants_json(declared):
        properties[PARSED] = schema_of_parsed(declared)
        required.append(PARSED)
    if settings.top_logprobs:
        properties["top_logprobs"] = {"type": "array", "items": {"type": "array", "items": _ALTERNATIVE}}
    return {"type": "object", "properties": properties, "required": [*required], "additionalProperties": False}
