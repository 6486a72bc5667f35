"""A whole answer as the stream that the agent asked for, where the server was asked for it in one piece."""

from collections.abc import Iterator
from typing import Any, Final

import orjson

from stretto.serve.gateway.ask import Kept
from stretto.serve.gateway.events import DONE, event

_HEAD: Final[tuple[str, ...]] = ("id", "created", "model", "system_fingerprint", "service_tier")
_OF_CHOICE: Final[tuple[str, ...]] = ("logprobs", "token_ids", "prompt_token_ids", "meta_info")
_SAID: Final[tuple[str, ...]] = ("role", "content", "refusal", "reasoning", "reasoning_content")


def as_stream(body: dict[str, Any], kept: Kept, *, is_chat: bool) -> bytes:
    """Every event of the stream, its end too. Any: outside bytes, looked at before use."""
    return b"".join([*(event(orjson.dumps(chunk)) for chunk in _chunks(body, kept, is_chat=is_chat)), event(DONE)])


def _chunks(body: dict[str, Any], kept: Kept, *, is_chat: bool) -> Iterator[dict[str, Any]]:
    """What each choice says, then why each ended, then usage where it was asked for."""
    head = {name: body[name] for name in _HEAD if name in body}
    head["object"] = "chat.completion.chunk" if is_chat else "text_completion"
    choices = [choice for choice in body["choices"] if isinstance(choice, dict)]
    for choice in choices:
        yield {**head, "choices": [_said(choice, is_chat=is_chat)]}
    for choice in choices:
        ended: dict[str, Any] = {"delta": {}} if is_chat else {"text": ""}
        reason = {"finish_reason": choice.get("finish_reason"), "logprobs": None}
        yield {**head, "choices": [{"index": choice.get("index", 0), **ended, **reason}]}
    if kept.usage:
        yield {**head, "choices": [], "usage": body.get("usage")}


def _said(choice: dict[str, Any], *, is_chat: bool) -> dict[str, Any]:
    told = {name: choice[name] for name in _OF_CHOICE if name in choice}
    said = {"delta": _delta(choice.get("message"))} if is_chat else {"text": choice.get("text", "")}
    return {"index": choice.get("index", 0), **said, **told, "finish_reason": None}


def _delta(message: Any) -> dict[str, Any]:
    """A message as the change from nothing."""
    if not isinstance(message, dict):
        return {}
    delta = {name: message[name] for name in _SAID if message.get(name) is not None}
    calls = message.get("tool_calls")
    if isinstance(calls, list) and calls:
        delta["tool_calls"] = [
            {"index": index, **call} if isinstance(call, dict) else call for index, call in enumerate(calls)
        ]
    return delta
