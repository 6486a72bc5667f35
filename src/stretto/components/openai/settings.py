"""Which model is asked, where, and how, as declared and checked."""

import math
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import msgspec

from stretto.components.declared import declared
from stretto.components.names import NAME_RULE, is_component_name
from stretto.components.openai.address import as_base_url
from stretto.components.openai.formats import check_format
from stretto.components.openai.tool_form import check_tools, choice_of
from stretto.types.arguments import check_fields
from stretto.types.errors import UsageError
from stretto.types.ids import Digest, digest_of
from stretto.types.json import JsonObject

DEFAULT_MAX_CONNECTIONS: Final = 100
"""What a server of language models works on at once is less; the rest of the calls waits here, where it is measured."""

DEFAULT_MAX_RESPONSE_BYTES: Final = 8 * 1024 * 1024
"""As much as one step's output may have. A token with its log-probability takes 100 to 200 bytes."""

MAX_TOP_LOGPROBS: Final = 20
"""OpenAI API reference, "Create chat completion", `top_logprobs`; others allow as many or fewer."""

BY_RUN: Final = "run"

Seed: TypeAlias = int | Literal["run"]
"""A constant, or one drawn from the run's seed and the step's path: the same for each attempt and each replay."""

OWN_FIELDS: Final = frozenset(
    {
        *("model", "messages", "temperature", "max_tokens", "logprobs", "top_logprobs", "seed", "stop"),
        *("response_format", "tools", "tool_choice", "return_token_ids"),
    }
)
"""Fields of the request that options or the input give."""

UNREADABLE_FIELDS: Final = frozenset({"stream", "stream_options", "n"})
"""Fields that would change the form of the answer: one completion, whole, is what a step records."""

_INDIFFERENT: Final = frozenset(
    {"api_key_env", "headers", "prices", "max_connections", "max_response_bytes", "description"}
)


class Prices(msgspec.Struct, frozen=True, kw_only=True):
    """What tokens cost, per million, in the currency of the workflow's budget."""

    input: float = 0.0
    output: float = 0.0
    cached_input: float | None = None
    """Prompt tokens that the server says it had in its cache; None is as `input`."""


class OpenAiSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything declared about a model."""

    name: str
    model: str
    base_url: str
    api_key_env: str = ""
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    system: str = ""
    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    seed: Seed | None = None
    response_format: JsonObject | None = None
    tools: tuple[JsonObject, ...] = ()
    tool_choice: str = ""
    logprobs: bool = True
    top_logprobs: int = 0
    token_ids: bool = False
    extra_body: JsonObject = msgspec.field(default_factory=dict)
    prices: Prices | None = None
    max_connections: int = DEFAULT_MAX_CONNECTIONS
    max_response_bytes: int = DEFAULT_MAX_RESPONSE_BYTES
    version: str = "0.0.0"
    description: str = ""

    def check(self) -> None:
        """Raise UsageError for what cannot work."""
        if not is_component_name(self.name):
            raise UsageError(f"'{self.name}' cannot be the name of a component; expected {NAME_RULE}")
        check_fields(f"model '{self.name}'", self)
        if not self.model:
            raise self._wrong("has an empty `model`; name one that its server has: its /models lists them")
        as_base_url(self.base_url, f"`base_url` of model '{self.name}'")
        self._check_headers()
        self._check_numbers()
        self._check_answer()
        self._check_extra_body()

    def _check_headers(self) -> None:
        secret = [header for header in self.headers if header.casefold() == "authorization"]
        if secret:
            raise self._wrong("has an `authorization` header; keep the key in the environment and name it: api_key_env")
        for header, value in self.headers.items():
            if not (header.isascii() and header.isprintable() and value.isprintable()):
                raise self._wrong(f"has the header {header!r}: {value!r}, which HTTP cannot carry")

    def _check_numbers(self) -> None:
        if self.temperature is not None and not (math.isfinite(self.temperature) and self.temperature >= 0):
            raise self._wrong(f"has temperature {self.temperature}; expected 0 or more")
        if not 0 <= self.top_logprobs <= MAX_TOP_LOGPROBS:
            raise self._wrong(f"has top_logprobs {self.top_logprobs}; expected 0 to {MAX_TOP_LOGPROBS}")
        for option in ("max_tokens", "max_connections", "max_response_bytes"):
            value = getattr(self, option)
            if value is not None and value < 1:
                raise self._wrong(f"has {option} {value}; expected 1 or more")
        for price in () if self.prices is None else msgspec.structs.astuple(self.prices):
            if price is not None and not (math.isfinite(price) and price >= 0):
                raise self._wrong(f"has a price of {price}; expected 0 or more, per million tokens")

    def _check_answer(self) -> None:
        if self.top_logprobs and not self.logprobs:
            raise self._wrong("has `top_logprobs`, which has no effect without `logprobs`; remove one of them")
        tools = check_tools(self.tools, f"model '{self.name}'")
        if self.tool_choice:
            choice_of(self.tool_choice, tools, f"model '{self.name}'")
        if self.response_format is not None:
            check_format(self.response_format, f"`response_format` of model '{self.name}'")

    def _check_extra_body(self) -> None:
        for field in self.extra_body:
            if field in OWN_FIELDS:
                raise self._wrong(f"has `{field}` in `extra_body`; it is an option or an input of its own")
            if field in UNREADABLE_FIELDS:
                raise self._wrong(f"has `{field}` in `extra_body`; a step records one completion, sent whole")

    def _wrong(self, what: str) -> UsageError:
        return UsageError(f"model '{self.name}' {what}")

    def digest(self) -> Digest:
        """Of what decides which model answers and how; not of secrets, prices and limits."""
        return digest_of(declared(self, but=_INDIFFERENT))
