"""A language model behind an OpenAI-compatible server, as a component."""

from collections.abc import Mapping, Sequence

import msgspec
import orjson

from stretto.components.openai.address import Address, address_of
from stretto.components.openai.ask import request_body
from stretto.components.openai.failures import BROKEN_OFF, broken_off, error_inside, peer_of, refusal, unreadable
from stretto.components.openai.schemas import input_schema, output_schema
from stretto.components.openai.settings import (
    DEFAULT_MAX_CONNECTIONS,
    DEFAULT_MAX_RESPONSE_BYTES,
    OpenAiSettings,
    Prices,
    Seed,
)
from stretto.components.waiting import Wait
from stretto.components.web.connections import Connections
from stretto.components.web.reply import Reply
from stretto.types.arguments import as_tuple
from stretto.types.card import ANY_ACTION, Card
from stretto.types.enums import Effect
from stretto.types.json import JsonObject
from stretto.types.messages import Request, Response, RunInfo


class OpenAiModel:
    """Asks a model for one chat completion: input ``{messages}`` or ``{prompt}``, output ``{text, ...}``.

    `base_url` is what ``/chat/completions`` is appended to; it ends in ``/v1`` as a rule. `api_key_env` names the
    environment variable with the key; without it no key is sent. A run may bring its own server and key in its
    baggage: ``openai_base_url``, ``openai_api_key``.

    A call may set `temperature`, `max_tokens`, `tools`, `tool_choice` and, when none is declared, `response_format`
    for itself. `system` is put before the messages. `tools` and `response_format` have the API's own form;
    `tool_choice` is ``auto``, ``none``, ``required`` or a tool's name. `seed` ``run`` draws it from the run's seed and
    the step's path. `extra_body` holds further fields of the request, such as ``top_p``.

    Output: `text` and `finish_reason`; `message` is what goes back into a conversation; `tool_calls`, always there
    when tools are declared, holds ``{id, name, arguments}``; `parsed` the JSON that a `response_format` asked for;
    `reasoning` and `refusal` what the server tells of them; `top_logprobs`, when declared, the likeliest tokens at
    each place.

    Recorded is one `ModelCall`: messages as sent, text, finish reason, and token by token what the server gives. Ids
    are asked for by `token_ids` (vLLM 0.10.2, SGLang; others may refuse the field) and come without asking from
    llama.cpp; older SGLang gives them for ``extra_body: {return_meta_info: true, return_prompt_token_ids: true}``.
    They are never made here from the text. Log-probabilities are the server's: at a temperature other than 1 most
    give the model's own, before the temperature. `prices` turn tokens into cost.

    An attempt is one HTTP request. `max_connections` bounds those at once; waiting for one is the attempt's
    `queue_ms`, and so is waiting inside the server where its answer tells (llama.cpp, Groq, TGI). Raises UsageError for
    what cannot work.
    """

    def __init__(
        self,
        name: str,
        *,
        model: str,
        base_url: str,
        api_key_env: str = "",
        headers: Mapping[str, str] | None = None,
        system: str = "",
        temperature: float | None = None,
        max_tokens: int | None = None,
        stop: Sequence[str] = (),
        seed: Seed | None = None,
        response_format: JsonObject | None = None,
        tools: Sequence[JsonObject] = (),
        tool_choice: str = "",
        logprobs: bool = True,
        top_logprobs: int = 0,
        token_ids: bool = False,
        extra_body: JsonObject | None = None,
        prices: Prices | None = None,
        max_connections: int = DEFAULT_MAX_CONNECTIONS,
        max_response_bytes: int = DEFAULT_MAX_RESPONSE_BYTES,
        version: str = "0.0.0",
        description: str = "",
    ) -> None:
        settings = OpenAiSettings(
            name=name,
            model=model,
            base_url=base_url,
            api_key_env=api_key_env,
            headers={} if headers is None else headers,
            system=system,
            temperature=temperature,
            max_tokens=max_tokens,
            stop=as_tuple(f"`stop` of model '{name}'", stop),
            seed=seed,
            response_format=response_format,
            tools=as_tuple(f"`tools` of model '{name}'", tools),
            tool_choice=tool_choice,
            logprobs=logprobs,
            top_logprobs=top_logprobs,
            token_ids=token_ids,
            extra_body={} if extra_body is None else extra_body,
            prices=prices,
            max_connections=max_connections,
            max_response_bytes=max_response_bytes,
            version=version,
            description=description,
        )
        settings.check()
        self._settings = settings
        self._card = _card(settings)
        self._connections = Connections(
            f"model '{name}'",
            max_connections=settings.max_connections,
            max_response_bytes=settings.max_response_bytes,
        )

    @property
    def card(self) -> Card:
        """Its digest covers what decides which model answers and how; not keys, prices and limits."""
        return self._card

    async def open(self) -> None:
        """Make ready to connect; nothing is sent. Every `open` needs its `close`.

        Raises UsageError while another event loop that has not ended has it open.
        """
        from stretto.components.openai import answer  # noqa: F401  # numpy, so that the first call need not import it

        self._connections.open()

    async def close(self) -> None:
        """Drop the connections with the last user; the next call connects again. Raises UsageError as `open` does."""
        await self._connections.close()

    async def __call__(self, request: Request) -> Response:
        """Ask once. Raises ComponentError with the server's own words when it does not answer with a completion."""
        settings, run = self._settings, request.call.run
        address = address_of(settings.name, settings.base_url, settings.api_key_env, settings.headers, run)
        body = request_body(settings, request.call, request.input)
        reply = await self._connections.pool().send(
            peer_of(settings.name, address), "POST", address.url, _headers(address, run), orjson.dumps(body)
        )
        with Wait(reply.queue_ms):
            return self._received(address, body, reply)

    def _received(self, address: Address, body: JsonObject, reply: Reply) -> Response:
        from stretto.components.openai.answer import response_of
        from stretto.components.openai.waiting import server_queue_ms
        from stretto.components.openai.wire import decode

        name = self._settings.name
        if not 200 <= reply.status < 300:
            raise refusal(name, address, reply)
        try:
            completion = decode.decode(reply.body)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise error_inside(name, address, reply) or unreadable(name, address, reply, str(error)) from error
        inside_ms = server_queue_ms(reply, completion)
        with Wait(inside_ms):
            reason = completion.choices[0].finish_reason or ""
            if reason in BROKEN_OFF:
                raise broken_off(name, address, reason)
            return response_of(self._settings, body, completion, reply.queue_ms + inside_ms)


def _headers(address: Address, run: RunInfo) -> dict[str, str]:
    headers = {**address.headers, "Content-Type": "application/json", "Accept": "application/json"}
    if address.key:
        headers["Authorization"] = f"Bearer {address.key}"
    return headers | run.trace


def _card(settings: OpenAiSettings) -> Card:
    return Card(
        name=settings.name,
        version=settings.version,
        kind="openai",
        digest=settings.digest(),
        input=input_schema(settings),
        output=output_schema(settings),
        effects={ANY_ACTION: Effect.READ},
        description=settings.description,
    )
