"""One request for a completion: what the gateway reads of it, and what it asks for beside."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec
import orjson

from stretto.components.openai.ask import LEAST_TOP_LOGPROBS
from stretto.record.canonical import has_many_openings
from stretto.record.conversation import AFTER, SAME
from stretto.serve.gateway.said import Messages, Said, prompt_of
from stretto.serve.refused import Refused
from stretto.types.json import Json, JsonObject

CHAT: Final = "/chat/completions"
TEXT: Final = "/completions"
EMBEDDINGS: Final = "/embeddings"

LOGPROBS: Final = "logprobs"
TOKEN_IDS: Final = "return_token_ids"  # noqa: S105  # the name of a field
USAGE: Final = "stream_options"
META_INFO: Final = "return_meta_info"
"""What may be asked for beside, and left out again where a server refuses it; `top_logprobs` goes with `logprobs`."""

_OF_STREAMS: Final = ("stream", USAGE)
"""Fields that are left out where a whole answer is asked for."""

_DEEPEST: Final = 254
"""Levels that orjson writes; it reads more. A record holds 200, and what lies between goes unrecorded."""

_raw: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What the agent asked for itself, and so is to see."""

    logprobs: bool
    top_logprobs: bool
    token_ids: bool
    usage: bool
    meta_info: bool = False


_NOTHING: Final[Mapping[str, Json]] = {}


class Shape(NamedTuple):
    """What decides which fields a server takes: llama.cpp (2026) gives no log-probabilities for tools in a stream."""

    model: str
    is_chat: bool
    is_stream: bool
    has_tools: bool

    @property
    def told(self) -> str:
        """In words."""
        kind = "chat completions" if self.is_chat else "text completions"
        how = [*(["in a stream"] if self.is_stream else []), *(["with tools"] if self.has_tools else [])]
        return " ".join([kind, "of model", f"'{self.model}'", *how])


class Ask:
    """A request that can be sent on. Its own fields go as they were written, byte for byte."""

    __slots__ = ("_added", "_body", "_raw", "document", "is_chat", "is_streamed", "kept", "model", "said", "stream")

    def __init__(self, path: str, body: bytes, *, whole: bool = False, extra: Mapping[str, Json] = _NOTHING) -> None:
        """`whole` asks for the answer in one piece also where the agent wants a stream; `extra` are further fields,
        where the agent does not bring them.

        Raises Refused for what is no such request.
        """
        self.is_chat = path == CHAT
        self._body = body
        self.document = _document(body)
        """Every field of the request."""
        model = self.document.get("model")
        if not isinstance(model, str | None):
            raise Refused(400, f"`model` is {model!r}; expected its name", param="model")
        self.model = model or ""
        self.stream = self.document.get("stream") is True
        """Whether the agent is to get a stream."""
        self.is_streamed = self.stream and not whole
        """Whether the server is asked for one."""
        self.said: Said = (
            Messages(self.document.get("messages")) if self.is_chat else prompt_of(self.document.get("prompt"))
        )
        self.kept = self._kept()
        self._raw: Mapping[str, Any] | None = None  # Any: msgspec.Raw, which mypy does not take for a value of JSON
        self._added = self._additions() | {name: {name: extra[name]} for name in extra if name not in self.document}

    @property
    def shape(self) -> Shape:
        return Shape(self.model, self.is_chat, self.is_streamed, bool(self.document.get("tools")))

    @property
    def added(self) -> frozenset[str]:
        """What is asked for beside."""
        return frozenset(self._added)

    def body(self, without: frozenset[str] = frozenset()) -> bytes:
        """What is sent on; of what would be asked for beside, without these."""
        added = {
            name: value
            for group, fields in self._added.items()
            if group not in without
            for name, value in fields.items()
        }
        unasked = _OF_STREAMS if self.stream and not self.is_streamed else ()
        if not added and not unasked:
            return self._body
        if self._raw is None:
            self._raw = _raw(self._body)
        return msgspec.json.encode({**{n: v for n, v in self._raw.items() if n not in unasked}, **added})

    def _kept(self) -> Kept:
        asked, document = self.document.get(LOGPROBS), self.document
        options = document.get(USAGE)
        is_told = isinstance(options, dict) and options.get("include_usage") is True
        if self.is_chat:
            has_logprobs, has_top = asked is True, bool(document.get("top_logprobs"))
        else:
            has_logprobs = isinstance(asked, int) and not isinstance(asked, bool)
            has_top = bool(asked)
        return Kept(
            logprobs=has_logprobs,
            top_logprobs=has_top,
            token_ids=document.get(TOKEN_IDS) is True,
            usage=is_told or not self.stream,
            meta_info=document.get(META_INFO) is True,
        )

    def _additions(self) -> dict[str, JsonObject]:
        kept, added = self.kept, {}
        if not (kept.logprobs and kept.top_logprobs):
            least: Json = LEAST_TOP_LOGPROBS
            added[LOGPROBS] = {LOGPROBS: True, "top_logprobs": least} if self.is_chat else {LOGPROBS: least}
        if not kept.token_ids:
            added[TOKEN_IDS] = {TOKEN_IDS: True}
        if not kept.usage and self.is_streamed:
            given = self.document.get(USAGE)
            added[USAGE] = {USAGE: {**(given if isinstance(given, dict) else {}), "include_usage": True}}
        return added


def _document(body: bytes) -> JsonObject:
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Refused(400, f"the body is no JSON: {error}", code="invalid_json") from error
    if not isinstance(document, dict):
        raise Refused(400, f"the body is {type(document).__name__}; expected a JSON object", code="invalid_json")
    for name in (AFTER, SAME):
        if name in document:
            raise Refused(400, f"`{name}` is a word of the record, which would be misread; leave it out", param=name)
    if has_many_openings(body):
        _check_depth(document)
    return document


def _check_depth(document: JsonObject) -> None:
    try:
        orjson.dumps(document)
    except TypeError as error:
        told = f"the body is nested more than {_DEEPEST} levels deep; flatten it, or pass it as text"
        raise Refused(400, told, code="invalid_json") from error
