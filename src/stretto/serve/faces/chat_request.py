"""A request to ``/v1/chat/completions``, as far as a workflow can answer it."""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec
import orjson

from stretto.serve.refused import Refused
from stretto.types.json import Json, JsonObject

ROLES: Final = ("system", "developer", "user", "assistant", "tool", "function")

_REFUSED: Final[Mapping[str, Callable[[Json], bool]]] = {
    "tools": bool,
    "functions": bool,
    "logprobs": bool,
    "audio": bool,
    "n": lambda value: value not in (None, 1),
    "modalities": lambda value: value not in (None, ["text"]),
    "response_format": lambda value: value is not None and value != {"type": "text"},
}
"""What would change the form of the answer, which is the workflow's own, with when it does. What tunes sampling
(`temperature`, `max_tokens`, `stop`, ...) is the workflow's too, and is passed over, since clients always send it."""


class ChatRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of which model."""

    model: str
    messages: tuple[dict[str, str], ...]
    """Role and content, the last one the user's."""
    stream: bool
    include_usage: bool
    """Of a stream: its last chunk tells the usage."""
    seed: int | None
    labels: dict[str, str]
    """From `metadata` and `user`."""


def read_chat(body: bytes) -> ChatRequest:
    """The request in a body. Raises Refused for one that cannot be answered, naming the field."""
    try:
        asked = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Refused(400, f"the body is no JSON: {error}", code="malformed") from error
    if not isinstance(asked, dict):
        raise Refused(400, "the body is no JSON object", code="malformed")
    model = asked.get("model")
    if not isinstance(model, str) or not model:
        raise Refused(400, "`model` is missing; it is the name of a workflow: GET /v1/models lists them", param="model")
    for field, is_asked in _REFUSED.items():
        if is_asked(asked.get(field)):
            raise _unsupported(field, asked[field])
    options = asked.get("stream_options")
    return ChatRequest(
        model=model,
        messages=_messages(asked.get("messages")),
        stream=_flag(asked, "stream"),
        include_usage=isinstance(options, dict) and options.get("include_usage") is True,
        seed=_seed(asked.get("seed")),
        labels=_labels(asked),
    )


def _messages(given: Json) -> tuple[dict[str, str], ...]:
    if not isinstance(given, list) or not given:
        raise Refused(400, "`messages` is missing or empty; expected a list of {role, content}", param="messages")
    messages = tuple(_message(index, each) for index, each in enumerate(given))
    if messages[-1]["role"] != "user":
        text = f"the last message is of role '{messages[-1]['role']}'; expected 'user', whom the workflow answers"
        raise Refused(400, text, param=f"messages[{len(messages) - 1}].role")
    return messages


def _message(index: int, given: Json) -> dict[str, str]:
    place = f"messages[{index}]"
    if not isinstance(given, dict):
        raise Refused(400, f"`{place}` is no object; expected {{role, content}}", param=place)
    role = given.get("role")
    if role not in ROLES:
        raise Refused(400, f"`{place}.role` is {role!r:.80}; expected one of {', '.join(ROLES)}", param=f"{place}.role")
    return {"role": str(role), "content": _text(given.get("content"), f"{place}.content")}


def _text(content: Json, place: str) -> str:
    """A text, or the texts of its parts; an assistant's message of calls only has none."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise Refused(400, f"`{place}` is {content!r:.80}; expected a text, or parts of type text", param=place)
    texts = []
    for part in content:
        text = part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None
        if not isinstance(text, str):
            kind = part.get("type") if isinstance(part, dict) else part
            what = "text without a `text`" if kind == "text" else f"type {kind!r:.80}; only text is taken"
            raise Refused(400, f"`{place}` has a part of {what}", param=place)
        texts.append(text)
    return "".join(texts)


def _flag(asked: JsonObject, field: str) -> bool:
    value = asked.get(field)
    if value is not None and not isinstance(value, bool):
        raise Refused(400, f"`{field}` is {value!r:.80}; expected true or false", param=field)
    return value is True


def _seed(given: Json) -> int | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int) or not -(2**63) <= given < 2**63:
        raise Refused(400, f"`seed` is {given!r:.80}; expected an integer of 64 bits", param="seed")
    return given


def _labels(asked: JsonObject) -> dict[str, str]:
    given, user = asked.get("metadata"), asked.get("user")
    if given is not None and not (isinstance(given, dict) and all(isinstance(each, str) for each in given.values())):
        raise Refused(400, "`metadata` is no mapping of text to text", param="metadata")
    labels = {name: str(text) for name, text in given.items()} if isinstance(given, dict) else {}
    return {**labels, "user": user} if isinstance(user, str) and user else labels


def _unsupported(field: str, value: Json) -> Refused:
    text = f"`{field}` is {value!r:.80}, and a workflow's answer has the form that its contract gives it; leave it out"
    return Refused(400, text, code="unsupported_parameter", param=field)
