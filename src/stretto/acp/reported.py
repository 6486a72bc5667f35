"""What a component reports for learning, between the record's form and the wire's.

Arrays of model calls are safetensors files. One that occurs several times in an answer, as the prompt of many samples,
is sent once.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
import orjson

from stretto.acp import messages as m
from stretto.acp.blob import name_of
from stretto.record.arrays import ARRAY_FIELDS, array_in, content_of
from stretto.record.canonical import snapshot
from stretto.types.errors import ContractError
from stretto.types.learning import Action, Array, ModelCall

MEDIA_TYPE: Final = "application/octet-stream"
"""Of a blob that is an array: none is registered for safetensors."""


class Reported(msgspec.Struct, frozen=True, kw_only=True):
    """What goes along with an answer."""

    actions: tuple[m.Action, ...] = ()
    model_calls: tuple[m.ModelCall, ...] = ()
    blobs: tuple[m.Blob, ...] = ()
    """Contents that the model calls name."""
    size: int = 0
    """Bytes, about."""


NOTHING: Final = Reported()

MAX_ARRAY_BYTES: Final = 64 * 1024 * 1024
"""Of all arrays of one answer, one that is named several times counted each time: a name is short, and what it stands
for is kept with each model call. As many as sixteen samples of a million tokens."""


def reported_of(name: str, actions: Sequence[Action], calls: Sequence[ModelCall]) -> Reported:
    """What a component reported, which was held to the record's rules before. Raises ContractError for what the wire
    has no room for."""
    files = [_files(call) for call in calls]
    times = Counter(each for of in files for each in of.values())
    size = sum(len(content) * count for content, count in times.items())
    if size > MAX_ARRAY_BYTES:
        limit = f"{MAX_ARRAY_BYTES:,} with one answer"
        raise ContractError(f"component '{name}' reported arrays of {size:,} bytes; expected at most {limit}")
    names = {content: name_of(content) for content, count in times.items() if count > 1}
    told = tuple(_model_call(name, call, of, names) for call, of in zip(calls, files, strict=True))
    blobs = tuple(m.Blob(digest=digest, content=each, media_type=MEDIA_TYPE) for each, digest in names.items())
    choices = tuple(m.Action(**msgspec.structs.asdict(action)) for action in actions)
    size = len(msgspec.json.encode((choices, told))) + sum(map(len, names))
    return Reported(actions=choices, model_calls=told, blobs=blobs, size=size)


def actions_in(answer: m.CallResponse) -> tuple[Action, ...]:
    """The choices that an answer carries, as it tells them."""
    return tuple(Action(**msgspec.structs.asdict(action)) for action in answer.actions)


def model_calls_in(answer: m.CallResponse) -> tuple[ModelCall, ...]:
    """The model calls that an answer carries, as it tells them; arrays that are one there are one here.

    Raises ValueError for an array that is none, or whose content did not come, for more of them than may be, and for
    messages that are no JSON.
    """
    arrays = _Arrays(answer.blobs)
    return tuple(_read(call, arrays) for call in answer.model_calls)


# the record's → the wire's


def _files(call: ModelCall) -> dict[str, bytes]:
    return {name: content_of(value) for name in ARRAY_FIELDS if (value := getattr(call, name)) is not None}


def _model_call(name: str, call: ModelCall, files: dict[str, bytes], names: dict[bytes, str]) -> m.ModelCall:
    counts = (call.prompt_tokens, call.completion_tokens, *(tokens for _, tokens in call.policy_versions))
    if max(counts) > m.MAX_UINT32:
        raise ContractError(f"component '{name}' reported a model call of {max(counts)} tokens; expected below 2^32")
    return m.ModelCall(
        model=call.model,
        **{
            field: m.Array(digest=names[content]) if content in names else m.Array(content=content)
            for field, content in files.items()
        },
        policy_versions=tuple(m.PolicyVersion(policy=policy, tokens=tokens) for policy, tokens in call.policy_versions),
        finish_reason=call.finish_reason,
        prompt_tokens=call.prompt_tokens,
        completion_tokens=call.completion_tokens,
        messages_json="" if call.messages is None else snapshot(call.messages).decode(),
        text=call.text,
    )


# the wire's → the record's


def _read(call: m.ModelCall, arrays: "_Arrays") -> ModelCall:
    told: dict[str, m.Array | None] = {field: getattr(call, field) for field in ARRAY_FIELDS}
    read: dict[str, Any] = {field: arrays.read(field, array) for field, array in told.items() if array is not None}
    return ModelCall(
        model=call.model,
        **read,
        policy_versions=tuple((each.policy, each.tokens) for each in call.policy_versions),
        finish_reason=call.finish_reason,
        prompt_tokens=call.prompt_tokens,
        completion_tokens=call.completion_tokens,
        messages=_messages(call.messages_json),
        text=call.text,
    )


class _Arrays:
    """The arrays of one answer, each content read once."""

    def __init__(self, blobs: Iterable[m.Blob]) -> None:
        self._blobs = {blob.digest: blob for blob in blobs}
        self._known: dict[str, Array] = {}
        self._left_bytes = MAX_ARRAY_BYTES

    def read(self, field: str, told: m.Array) -> Array:
        content = told.content or self._content(field, told.digest)
        self._left_bytes -= len(content)
        if self._left_bytes < 0:
            raise ValueError(f"its model calls hold arrays of more than {MAX_ARRAY_BYTES:,} bytes in all")
        if told.content or told.digest not in self._known:
            try:
                array = array_in(content)
            except ValueError as error:
                raise ValueError(f"`{field}` of a model call is no array: {error}") from error
            if told.content:
                return array
            self._known[told.digest] = array
        return self._known[told.digest]

    def _content(self, field: str, digest: str) -> bytes:
        blob = self._blobs.get(digest)
        if blob is None or not blob.content:
            missing = f"the content {digest[:80]!r}, which did not come" if digest else "no content"
            raise ValueError(f"`{field}` of a model call has {missing}")
        if digest not in self._known and name_of(blob.content) != digest:
            raise ValueError(f"`{field}` of a model call names {digest[:80]!r}, and its content has another digest")
        return blob.content


def _messages(text: str) -> Any:  # JSON
    if not text:
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"`messagesJson` of a model call is no JSON: {error}") from error
