"""A workflow's answer in the form of a chat completion, whole or in chunks (OpenAI API reference, "Chat")."""

import time
from collections.abc import Iterator
from typing import Final

import msgspec
import orjson

from stretto.acp.server import Answer
from stretto.types.json import Json, JsonObject

DONE: Final = b"data: [DONE]\n\n"

WAITING: Final = b": the workflow is at work\n\n"
"""A comment, which clients pass over (WHATWG HTML, section 9.2.6): proxies close a connection that says nothing."""


class ChatReply(msgspec.Struct, frozen=True, kw_only=True):
    """What is told of an answer."""

    model: str
    text: str
    answer: Answer

    def body(self) -> JsonObject:
        """Whole."""
        message: JsonObject = {"role": "assistant", "content": self.text, "refusal": None}
        choice: JsonObject = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        return {**self._head("chat.completion"), "choices": [choice], "usage": self._usage(), "stretto": self._ours()}

    def chunks(self, *, include_usage: bool) -> Iterator[bytes]:
        """As server-sent events. A workflow answers whole, so its text comes in one."""
        head = self._head("chat.completion.chunk")
        if include_usage:
            head["usage"] = None
        yield _event({**head, "choices": [_choice({"role": "assistant", "content": ""})]})
        yield _event({**head, "choices": [_choice({"content": self.text})]})
        yield _event({**head, "choices": [_choice({}, "stop")], "stretto": self._ours()})
        if include_usage:
            yield _event({**head, "choices": [], "usage": self._usage()})
        yield DONE

    def _head(self, kind: str) -> JsonObject:
        result = self.answer.result
        return {
            "id": f"chatcmpl-{result.run_id}",
            "object": kind,
            "created": int(time.time()),
            "model": self.model,
            "system_fingerprint": f"fp_{result.component.digest[:10]}",
        }

    def _usage(self) -> JsonObject:
        spent = self.answer.result.usage
        told, made = spent.input_tokens, spent.output_tokens
        return {"prompt_tokens": told, "completion_tokens": made, "total_tokens": told + made}

    def _ours(self) -> JsonObject:
        """What the protocol of others has no place for: the run, and whether a substitute answered."""
        result = self.answer.result
        return {"run_id": result.run_id, "outcome": result.outcome or "ok", "replayed": result.replayed}


def text_of(output: JsonObject, field: str) -> str:
    """The answer's text: what is none is told as JSON, and what is not there as nothing."""
    value = output.get(field)
    if value is None:
        return ""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def error_event(error: JsonObject) -> bytes:
    """Of a stream that has begun: what went wrong, by which clients raise."""
    return _event(error) + DONE


def _choice(delta: JsonObject, finish_reason: str | None = None) -> JsonObject:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


def _event(document: Json) -> bytes:
    return b"data: " + orjson.dumps(document) + b"\n\n"
