"""A chat completion as the response of a component."""

import math
from typing import Final

import msgspec
import orjson

from stretto.components.openai.formats import PARSED, wants_json
from stretto.components.openai.settings import OpenAiSettings, Prices
from stretto.components.openai.tokens import Tokens, entries, natural, tokens_of
from stretto.components.openai.wire import Choice, Completion, ToolCall, WireUsage
from stretto.types.enums import Outcome
from stretto.types.json import Json, JsonObject
from stretto.types.learning import ModelCall
from stretto.types.messages import Response, Usage

_read: Final = msgspec.json.Decoder().decode
"""Keeps the digits of a long integer, which the record refuses by name: rounded, nobody would see it."""

_UNREADABLE: Final = (msgspec.DecodeError, RecursionError)

_OUTCOMES: Final = {"length": Outcome.PARTIAL, "content_filter": Outcome.REFUSED}
"""Finish reasons that say more than that the model came to its end."""

_PER: Final = 1_000_000
"""Tokens that a price is for."""


def response_of(settings: OpenAiSettings, body: JsonObject, completion: Completion, queue_ms: float) -> Response:
    """What the step's record keeps of the first choice, for the request `body`.

    When JSON was asked for and the text is none, `parsed` is missing: the engine then finds the output's schema
    broken, and the record still holds what the model wrote and what it cost.
    """
    choice = completion.choices[0]
    tokens = tokens_of(completion, choice)
    usage = _usage(settings.prices, completion.usage or WireUsage(), tokens)
    output, doubt = _output(settings, body, choice)
    call = ModelCall(
        model=completion.model or settings.model,
        prompt_ids=tokens.prompt_ids,
        completion_ids=tokens.completion_ids,
        logprobs=tokens.logprobs,
        mask=tokens.mask,
        policy_versions=_versions(choice, tokens),
        finish_reason=choice.finish_reason or "",
        prompt_tokens=usage.input_tokens,
        completion_tokens=usage.output_tokens,
        messages=body["messages"],
        text=choice.message.text,
    )
    told = {
        "response_id": completion.id,
        "system_fingerprint": completion.system_fingerprint,
        "tokens": tokens.doubt or _missing_ids(settings, tokens, usage),
        PARSED: doubt,
    }
    return Response(
        output=output,
        outcome=Outcome.REFUSED if choice.message.refusal else _OUTCOMES.get(choice.finish_reason or "", Outcome.OK),
        usage=usage,
        model_calls=(call,),
        evidence={name: text for name, text in told.items() if text},
        queue_ms=queue_ms,
    )


def _output(settings: OpenAiSettings, body: JsonObject, choice: Choice) -> tuple[JsonObject, str]:
    """The output, and why it lacks `parsed` when it should hold it."""
    message = choice.message
    output: JsonObject = {
        "text": message.text,
        "finish_reason": choice.finish_reason or "",
        "message": _as_sent_back(message.text, message.tool_calls or []),
    }
    if "tools" in body or message.tool_calls:
        output["tool_calls"] = [_tool_call(call) for call in message.tool_calls or []]
    reasoning = message.reasoning or message.reasoning_content
    output |= {name: text for name, text in (("reasoning", reasoning), ("refusal", message.refusal)) if text}
    if settings.top_logprobs:
        output["top_logprobs"] = _alternatives(choice)
    if not wants_json(body.get("response_format")):
        return output, ""
    try:
        output[PARSED] = _read(message.text)
    except _UNREADABLE as error:
        return output, f"the text is not JSON: {error}"
    return output, ""


def _as_sent_back(text: str, calls: list[ToolCall]) -> JsonObject:
    """The message as the next request carries it, in the API's form; reasoning stays out, as servers ask."""
    if not calls:
        return {"role": "assistant", "content": text}
    sent: list[Json] = [
        {
            "id": call.id or "",
            "type": "function",
            "function": {"name": call.function.name, "arguments": _text(call.function.arguments)},
        }
        for call in calls
    ]
    return {"role": "assistant", "content": text, "tool_calls": sent}


def _tool_call(call: ToolCall) -> JsonObject:
    arguments = call.function.arguments
    read: JsonObject = {"id": call.id or "", "name": call.function.name, "arguments": _object(arguments)}
    return read if read["arguments"] is not None else {**read, "text": _text(arguments)}


def _object(arguments: Json) -> JsonObject | None:
    """Arguments as the object that they should be; none at all is an empty one, as for a tool without parameters."""
    if isinstance(arguments, str):
        try:
            arguments = _read(arguments or "{}")
        except _UNREADABLE:
            return None
    if arguments is None:
        return {}
    return arguments if isinstance(arguments, dict) else None


def _text(arguments: Json) -> str:
    return arguments if isinstance(arguments, str) else orjson.dumps(arguments or {}).decode()


def _alternatives(choice: Choice) -> list[Json]:
    """For each token the likeliest at its place, the likeliest first."""
    return [
        [
            {"token": each.token, "logprob": logprob}
            for each in token.top_logprobs or token.top_probs or []
            if (logprob := natural(each)) is not None and math.isfinite(logprob)
        ]
        for token in entries(choice)
    ]


def _missing_ids(settings: OpenAiSettings, tokens: Tokens, usage: Usage) -> str:
    """Servers that do not know the field leave it out in silence; whoever learns from the run must not."""
    if not settings.token_ids or tokens.completion_ids is not None or not usage.output_tokens:
        return ""
    return "the server gave no token ids, though they were asked for"


def _versions(choice: Choice, tokens: Tokens) -> tuple[tuple[str, int], ...]:
    version = "" if choice.meta_info is None else choice.meta_info.weight_version
    return ((version, tokens.length),) if version and tokens.length else ()


def _usage(prices: Prices | None, counted: WireUsage, tokens: Tokens) -> Usage:
    """What the server counted; where it counted nothing, what can be counted in its tokens."""
    prompt, completion = counted.prompt_tokens, counted.completion_tokens
    if prompt is None:
        prompt = 0 if tokens.prompt_ids is None else len(tokens.prompt_ids)
    if completion is None:
        completion = tokens.length
    if prices is None:
        return Usage(input_tokens=prompt, output_tokens=completion)
    details = counted.prompt_tokens_details
    cached = min(prompt, (details and details.cached_tokens) or 0)
    cached_price = prices.input if prices.cached_input is None else prices.cached_input
    cost = (prompt - cached) * prices.input + cached * cached_price + completion * prices.output
    return Usage(input_tokens=prompt, output_tokens=completion, cost=cost / _PER)
