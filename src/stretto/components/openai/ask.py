"""The body of a request: what was declared, what the call sets for itself, and the conversation."""

from hashlib import blake2b
from typing import Final, cast

from stretto.components.openai.formats import check_format
from stretto.components.openai.settings import BY_RUN, OpenAiSettings
from stretto.components.openai.tool_form import check_tools, choice_of
from stretto.types.errors import Code, ComponentError, UsageError
from stretto.types.json import Json, JsonObject
from stretto.types.messages import Call

LEAST_TOP_LOGPROBS: Final = 1
"""llama.cpp (2026) gives no log-probabilities at all for 0, and twenty alternatives a token when it is left out; the
others take 1 as well."""


def request_body(settings: OpenAiSettings, call: Call, data: JsonObject) -> JsonObject:
    """What is posted. Raises ComponentError, with `sent` false, for what no server could answer."""
    body: JsonObject = {**settings.extra_body, "model": settings.model, "messages": messages_of(settings, data)}
    chosen: JsonObject = {
        "temperature": _given(data, "temperature", settings.temperature),
        "max_tokens": _given(data, "max_tokens", settings.max_tokens),
        "stop": [*settings.stop] or None,
        "seed": _seed(settings, call),
        "response_format": _given(data, "response_format", settings.response_format),
        "tools": _given(data, "tools", [*settings.tools]) or None,
        "tool_choice": _given(data, "tool_choice", _choice_that_stands(settings, data)),
    }
    body |= {field: value for field, value in chosen.items() if value is not None}
    if settings.logprobs:
        body |= {"logprobs": True, "top_logprobs": max(settings.top_logprobs, LEAST_TOP_LOGPROBS)}
    if settings.token_ids:
        body["return_token_ids"] = True
    _check(settings.name, body)
    return body


def messages_of(settings: OpenAiSettings, data: JsonObject) -> list[Json]:
    """The conversation as it is sent: the declared system message, then the request's messages or prompt."""
    messages: list[Json] = [{"role": "system", "content": settings.system}] if settings.system else []
    given = data.get("messages")
    if not isinstance(given, list):
        return [*messages, {"role": "user", "content": data.get("prompt")}]
    first = given[0] if given else None
    if messages and isinstance(first, dict) and first.get("role") in ("system", "developer"):
        text = f"the messages begin with one of role '{first['role']}', and model '{settings.name}' declares `system`"
        raise ComponentError(f"{text}: leave one of the two out", Code.INVALID_ARGUMENT, sent=False)
    return messages + given


def _given(data: JsonObject, field: str, declared: Json) -> Json:
    given = data.get(field)
    return declared if given is None else given


def _choice_that_stands(settings: OpenAiSettings, data: JsonObject) -> str | None:
    """The declared choice is one among the declared tools: a call with tools of its own makes its own."""
    return settings.tool_choice or None if data.get("tools") is None else None


def _seed(settings: OpenAiSettings, call: Call) -> int | None:
    """31 bits when it is the run's: all servers take them; llama.cpp takes no more than 32."""
    if settings.seed != BY_RUN:
        return settings.seed
    key = f"{call.run.seed}/{call.path}".encode()
    return int.from_bytes(blake2b(key, digest_size=4).digest(), "little") >> 1


def _check(name: str, body: JsonObject) -> None:
    """Hold what the call set for itself to the form that the declaration was held to, and name the chosen tool."""
    what = f"the call of model '{name}'"
    try:
        tools = check_tools(body.get("tools") or [], what)
        if "tool_choice" in body:
            body["tool_choice"] = choice_of(cast("str", body["tool_choice"]), tools, what)
        if "response_format" in body:
            check_format(cast("JsonObject", body["response_format"]), f"`response_format` of {what}")
    except UsageError as error:
        raise ComponentError(str(error), Code.INVALID_ARGUMENT, sent=False) from error
