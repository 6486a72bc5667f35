"""What a declaration of kind ``openai`` may hold in a workflow file."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

from stretto.components.openai.model import OpenAiModel
from stretto.components.openai.settings import BY_RUN, MAX_TOP_LOGPROBS, Prices, Seed
from stretto.components.option_shapes import ANY_TEXT, DESCRIPTION_KEY, TEXT_BY_NAME, TEXTS, VERSION_KEY, Make
from stretto.spec.nested import Items, ObjectValue
from stretto.spec.nodes import Node, ScalarNode
from stretto.spec.records import Fields, Key, Record
from stretto.spec.report import Report
from stretto.spec.shapes import Flag, Number, Text, Whole, wrong_type
from stretto.spec.texts import PROSE
from stretto.types.json import JsonObject
from stretto.types.protocols import Component


class SeedShape:
    """A whole number, or ``run``."""

    def read(self, node: Node, name: str, report: Report) -> Seed | None:
        value = node.value if isinstance(node, ScalarNode) else None
        if value == BY_RUN or (isinstance(value, int) and not isinstance(value, bool)):
            return cast("Seed", value)
        report.add(wrong_type(node, name, "a whole number, or the word run", f"{name}: {BY_RUN}"))
        return None

    def schema(self, _defs: JsonObject) -> JsonObject:
        return {"anyOf": [{"type": "integer"}, {"const": BY_RUN}]}


_PRICE: Final = Number(minimum=0)

INPUT: Final = Key(
    "input", _PRICE, means="price of a million prompt tokens", example="input: 0.15", also=("in", "prompt")
)
OUTPUT: Final = Key(
    "output", _PRICE, means="price of a million completion tokens", example="output: 0.60", also=("out", "completion")
)
CACHED_INPUT: Final = Key(
    "cached_input",
    _PRICE,
    means="price of a million prompt tokens from the server's cache",
    example="cached_input: 0.075",
    also=("cached", "cache", "cached_in"),
)


def _prices(fields: Fields) -> Prices:
    given = {key.name: value for key in (INPUT, OUTPUT, CACHED_INPUT) if (value := fields.get(key)) is not None}
    return Prices(**given)


MODEL: Final = Key(
    "model",
    Text(expected="the name of a model"),
    means="the model's name at its server",
    example="model: Qwen/Qwen3-8B",
    required=True,
)
BASE_URL: Final = Key(
    "base_url",
    ANY_TEXT,
    means="address that /chat/completions is appended to",
    example="base_url: http://127.0.0.1:8000/v1",
    required=True,
    also=("url", "api_base", "endpoint", "host"),
)
API_KEY_ENV: Final = Key(
    "api_key_env",
    Text(expected="the name of an environment variable"),
    means="environment variable that holds the key",
    example="api_key_env: OPENAI_API_KEY",
    akin=("api_key", "key", "token"),
)
HEADERS: Final = Key("headers", TEXT_BY_NAME, means="HTTP headers of every request", example='headers: { X-Team: "a" }')
SYSTEM: Final = Key(
    "system",
    PROSE,
    means="system message put before every conversation",
    example="system: You answer in one sentence.",
    also=("system_prompt", "instructions"),
)
TEMPERATURE: Final = Key(
    "temperature", Number(minimum=0), means="spread of the sampling, 0 for none", example="temperature: 1.0"
)
MAX_TOKENS: Final = Key(
    "max_tokens", Whole(minimum=1), means="most tokens of a completion", example="max_tokens: 512", also=("max_length",)
)
STOP: Final = Key("stop", TEXTS, means="texts that end a completion", example='stop: ["\\n\\n"]')
SEED: Final = Key("seed", SeedShape(), means="seed of the sampling: a number, or the run's", example="seed: run")
RESPONSE_FORMAT: Final = Key(
    "response_format",
    ObjectValue(),
    means="form of the answer, as the API has it; `parsed` then holds the JSON",
    example="response_format: { type: json_schema, json_schema: { name: plan, schema: { type: object } } }",
)
TOOLS: Final = Key(
    "tools",
    Items(item=ObjectValue(), what="tools"),
    means="tools that the model may ask for, as the API has them",
    example="tools: [{ type: function, function: { name: get_order, parameters: { type: object } } }]",
)
TOOL_CHOICE: Final = Key(
    "tool_choice",
    Text(expected="auto, none, required or the name of a tool"),
    means="whether a tool must be asked for, and which",
    example="tool_choice: required",
)
LOGPROBS: Final = Key(
    "logprobs", Flag(), means="record the tokens' log-probabilities; some models refuse", example="logprobs: false"
)
TOP_LOGPROBS: Final = Key(
    "top_logprobs",
    Whole(minimum=1),
    means=f"likeliest tokens at each place to give as output, at most {MAX_TOP_LOGPROBS}",
    example="top_logprobs: 5",
)
TOKEN_IDS: Final = Key(
    "token_ids", Flag(), means="ask for token ids, as vLLM and SGLang give them", example="token_ids: true"
)
EXTRA_BODY: Final = Key(
    "extra_body", ObjectValue(), means="further fields of the request", example="extra_body: { top_p: 0.95 }"
)
PRICES: Final = Key(
    "prices",
    Record(
        "prices",
        means="What tokens cost.",
        keys=(INPUT, OUTPUT, CACHED_INPUT),
        build=_prices,
        may_be_empty=False,
        is_thing=False,
    ),
    means="what a million tokens cost",
    example="prices: { input: 0.15, output: 0.60 }",
)
MAX_CONNECTIONS: Final = Key(
    "max_connections",
    Whole(minimum=1),
    means="requests to the server at once",
    example="max_connections: 32",
    also=("concurrency", "max_parallel"),
)
MAX_RESPONSE_BYTES: Final = Key(
    "max_response_bytes", Whole(minimum=1), means="largest answer of the server", example="max_response_bytes: 8388608"
)

_PLAIN: Final[tuple[Key[Any], ...]] = (
    TEMPERATURE,
    MAX_TOKENS,
    SEED,
    LOGPROBS,
    TOP_LOGPROBS,
    TOKEN_IDS,
    PRICES,
    MAX_CONNECTIONS,
    MAX_RESPONSE_BYTES,
)
_TEXT: Final = (MODEL, BASE_URL, API_KEY_ENV, SYSTEM, TOOL_CHOICE, VERSION_KEY, DESCRIPTION_KEY)
_OBJECTS: Final = (RESPONSE_FORMAT, EXTRA_BODY)


def _build(fields: Fields) -> Make:
    options: dict[str, Any] = {key.name: fields.get(key) for key in _PLAIN if key in fields}
    options |= {key.name: text.value for key in _TEXT if (text := fields.get(key)) is not None}
    options |= {key.name: given.value for key in _OBJECTS if (given := fields.get(key)) is not None}
    stop, tools, headers = fields.get(STOP), fields.get(TOOLS), fields.get(HEADERS)
    if stop is not None:
        options["stop"] = [text.value for text in stop]
    if tools is not None:
        options["tools"] = [tool.value for tool in tools]
    if headers is not None:
        options["headers"] = dict(headers)
    return partial(_make, options)


def _make(options: Mapping[str, Any], name: str, _folder: Path) -> Component:
    return OpenAiModel(name, **options)


OPENAI: Final[Record[Make]] = Record(
    "model",
    means="A language model behind an OpenAI-compatible server.",
    keys=(*_PLAIN, *_TEXT, *_OBJECTS, STOP, TOOLS, HEADERS),
    build=_build,
)
