"""One call as a step of the record: what was asked, what came back, and token by token what the server told."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np
import orjson

from stretto.components.openai.answer import response_of
from stretto.components.openai.settings import OpenAiSettings
from stretto.components.openai.waiting import server_queue_ms
from stretto.components.openai.wire import Choice, Completion, Logprobs, Message, TokenId, WireUsage
from stretto.components.web.reply import Reply
from stretto.engine.failure import error_info
from stretto.record.canonical import snapshot
from stretto.record.conversation import AFTER, GROWING, SAME
from stretto.record.model import Attempt, StepRecord
from stretto.serve.gateway.ask import Ask
from stretto.serve.gateway.said import digest_of_value
from stretto.serve.gateway.turns import Place, Turn
from stretto.types.enums import Effect, StepStatus
from stretto.types.errors import NotJsonError, StrettoError
from stretto.types.json import Json, JsonObject
from stretto.types.learning import Array
from stretto.types.messages import Response, Usage

_SAID: Final = ("message", "text", "finish_reason")
"""Fields of a choice that are the answer itself."""

LONG_FIELDS: Final = ("tools", "functions", "response_format")
"""Fields of a request that are long and seldom change from one call to the next."""


class TextChoice(msgspec.Struct, frozen=True):
    """One text completion, as vLLM, SGLang and llama.cpp send it."""

    text: str = ""
    finish_reason: str | None = None
    logprobs: Logprobs | None = None
    token_ids: list[TokenId] | None = None
    prompt_token_ids: list[TokenId] | None = None


class TextCompletion(msgspec.Struct, frozen=True):
    """The whole answer of ``/completions``."""

    choices: list[TextChoice]
    model: str | None = None
    id: str | None = None
    system_fingerprint: str | None = None
    usage: WireUsage | None = None
    timings: Json = None


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """When one call was under way, in milliseconds since its run began."""

    started_ms: float
    ended_ms: float
    queue_ms: float = 0.0


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """A step, and the answers in it that may be gone on with."""

    step: StepRecord
    ends: Sequence[tuple[tuple[int, bytes], Turn]]


def completion_of(body: Mapping[str, Any], *, is_chat: bool) -> Completion:
    """An answer as the `openai` kind reads it. Raises msgspec.ValidationError for what is none."""
    if is_chat:
        return msgspec.convert(body, Completion)
    told = msgspec.convert(body, TextCompletion)
    choices = [
        Choice(
            message=Message(content=each.text),
            finish_reason=each.finish_reason,
            logprobs=each.logprobs,
            token_ids=each.token_ids,
            prompt_token_ids=each.prompt_token_ids,
        )
        for each in told.choices
    ]
    head = {name: getattr(told, name) for name in ("model", "id", "system_fingerprint", "usage", "timings")}
    if not choices:
        raise msgspec.ValidationError("Expected `array` of length >= 1 - at `$.choices`")
    return Completion(choices=choices, **head)


def answers_alone(body: Mapping[str, Any]) -> dict[str, Any]:
    """An answer without what stands beside what the model said: usage, tokens, names."""
    choices = body.get("choices")
    kept = [each if not isinstance(each, dict) else {n: each[n] for n in _SAID if n in each} for each in choices or ()]
    return {"choices": kept}


def answered_step(
    settings: OpenAiSettings,
    ask: Ask,
    place: Place,
    completion: Completion,
    reply: Reply,
    taken: Taken,
    limit_bytes: int,
) -> Answered:
    """The step of a call that was answered. Raises NotJsonError for a request that no record can hold."""
    responses = _responses(settings, ask, completion)
    outputs: list[JsonObject] = [dict(each.output) for each in responses]  # type: ignore[call-overload]  # an object, by response_of
    calls = tuple(call for each in responses for call in each.model_calls)
    queue_ms = taken.queue_ms + server_queue_ms(reply, completion)
    step = StepRecord(
        path=place.path,
        status=StepStatus.OK,
        component=settings.name,
        effect=Effect.READ,
        started_ms=taken.started_ms,
        ended_ms=taken.ended_ms,
        queue_ms=queue_ms,
        service_ms=max(0.0, taken.ended_ms - taken.started_ms - queue_ms),
        input=asked_input(ask, place, limit_bytes),
        output=_output(outputs, limit_bytes),
        model_calls=calls,
        usage=_usage(completion, responses),
        evidence=_evidence(ask, place, completion, responses),
    )
    fields = long_fields(ask.document)
    ends = [
        (ask.said.with_answer(_message(output)), Turn(place, ask.said, fields, (call.prompt_ids, call.completion_ids)))
        for output, call in zip(outputs, calls, strict=True)
    ]
    return Answered(step=step, ends=ends)


def failed_step(
    settings: OpenAiSettings,
    ask: Ask,
    place: Place,
    error: StrettoError,
    taken: Taken,
    limit_bytes: int,
    *,
    partly: Completion | None = None,
) -> StepRecord:
    """The step of a call that got no answer, or lost it half-way: what had come of it is kept as a model call.

    Why is not said yet: asked again and answered, it cost the run nothing.
    """
    info = error_info(error, place.path)
    service_ms = max(0.0, taken.ended_ms - taken.started_ms - taken.queue_ms)
    attempt = Attempt(started_ms=taken.started_ms, queue_ms=taken.queue_ms, service_ms=service_ms, error=info)
    responses = [] if partly is None else _responses(settings, ask, partly)
    return StepRecord(
        path=place.path,
        status=StepStatus.FAILED,
        component=settings.name,
        effect=Effect.READ,
        started_ms=taken.started_ms,
        ended_ms=taken.ended_ms,
        queue_ms=taken.queue_ms,
        service_ms=service_ms,
        input=asked_input(ask, place, limit_bytes),
        error=info,
        attempts=(attempt,),
        model_calls=tuple(call for each in responses for call in each.model_calls),
        evidence={} if place.parent is None else {"continues": place.parent.path},
    )


def asked_input(ask: Ask, place: Place, limit_bytes: int) -> msgspec.Raw:
    """The request as it was sent, without what stands in the step that it goes on with."""
    parent, document = place.parent, dict(ask.document)
    if parent is None or ask.said.form_of(parent.length) != parent.form:
        return msgspec.Raw(snapshot(document, limit_bytes))
    fields = long_fields(document)
    same: list[Json] = [name for name, digest in fields.items() if parent.fields.get(name) == digest]
    rest = {name: value for name, value in document.items() if name not in same and name not in GROWING}
    new = {ask.said.field: ask.said.after(parent.length)}
    kept = {AFTER: parent.path, **({SAME: same} if same else {}), **rest, **new}
    return msgspec.Raw(snapshot(kept, limit_bytes))


def long_fields(document: Mapping[str, Json]) -> dict[str, bytes]:
    """Digests of the long fields of a request."""
    return {name: digest_of_value(document[name]) for name in LONG_FIELDS if name in document}


def _responses(settings: OpenAiSettings, ask: Ask, completion: Completion) -> list[Response]:
    """Each choice as the `openai` kind has it. The messages stand in the step's input, and are not kept twice."""
    body: JsonObject = {"messages": None, **{name: ask.document[name] for name in LONG_FIELDS if name in ask.document}}
    if len(completion.choices) == 1:
        return [response_of(settings, body, completion, 0.0)]
    alone = [msgspec.structs.replace(completion, choices=[choice], usage=None) for choice in completion.choices]
    return [response_of(settings, body, each, 0.0) for each in alone]


def _output(outputs: Sequence[JsonObject], limit_bytes: int) -> msgspec.Raw:
    """The first choice's; where there are more, all of them beside it.

    Arguments of a tool that no record can hold, such as a number of thirty digits, stand there as text alone.
    """
    try:
        return msgspec.Raw(snapshot(_together(outputs), limit_bytes))
    except NotJsonError:
        return msgspec.Raw(snapshot(_together([_unread(each) for each in outputs]), limit_bytes))


def _together(outputs: Sequence[JsonObject]) -> JsonObject:
    return outputs[0] if len(outputs) == 1 else {**outputs[0], "choices": [*outputs]}


def _unread(output: JsonObject) -> JsonObject:
    """With every tool call's arguments as text alone, as those have it that are no JSON."""
    calls: Any = output.get("tool_calls")
    sent: Any = _message(output).get("tool_calls")
    if not calls:
        return output
    as_text: list[Json] = [
        {"id": call["id"], "name": call["name"], "arguments": None, "text": each["function"]["arguments"]}
        for call, each in zip(calls, sent, strict=True)
    ]
    return {**output, "tool_calls": as_text}


def _message(output: Mapping[str, Json]) -> JsonObject:
    message = output["message"]
    return message if isinstance(message, dict) else {}


def _usage(completion: Completion, responses: Sequence[Response]) -> Usage | None:
    """What the server counted; for several choices it counts them together."""
    counted = completion.usage
    if len(responses) == 1 or counted is None or counted.completion_tokens is None:
        return responses[0].usage
    return Usage(input_tokens=counted.prompt_tokens or 0, output_tokens=counted.completion_tokens)


def _evidence(ask: Ask, place: Place, completion: Completion, responses: Sequence[Response]) -> dict[str, Json]:
    evidence: dict[str, Json] = {**responses[0].evidence}
    parent = place.parent
    calls = [call for each in responses for call in each.model_calls]
    told = [call.completion_ids for call in calls if call.completion_ids is not None]
    counted = completion.usage and completion.usage.completion_tokens
    if told and len(told) == len(calls) and counted and sum(map(len, told)) != counted:
        evidence["tokens"] = f"the server counted {counted} tokens and told the ids of {sum(map(len, told))}"
    if ask.stream:
        evidence["stream"] = True
    if parent is not None:
        evidence["continues"] = parent.path
        at = drift(parent.tokens, calls[0].prompt_ids)
        if at is not None:
            evidence["drift"] = {"after": parent.path, "at": at}
    return evidence


def drift(before: tuple[Array | None, Array | None], prompt: Array | None) -> int | None:
    """The first place where a prompt's ids are not those of the prompt and answer that it goes on with.

    A chat template or an agent that writes history anew changes what the model had sampled; whoever joins the calls to
    one sequence must know. None where they agree, and where the server does not tell.
    """
    first, sampled = before
    if first is None or sampled is None or prompt is None:
        return None
    joined = np.concatenate([first, sampled])
    length = min(len(joined), len(prompt))
    apart = np.flatnonzero(joined[:length] != prompt[:length])
    if len(apart):
        return int(apart[0])
    return None if len(prompt) >= len(joined) else length


def in_one_piece(body: bytes) -> dict[str, Any] | None:
    """An answer that was sent whole, as JSON; None when it is none."""
    try:
        read = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return read if isinstance(read, dict) else None
