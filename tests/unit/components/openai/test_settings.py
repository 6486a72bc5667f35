"""Options that cannot work, and what the digest covers."""

from typing import Any

import pytest

from stretto.components.openai import OpenAiModel, Prices
from stretto.types.enums import Effect, Scope
from stretto.types.errors import UsageError

LEAST: dict[str, Any] = {"model": "small", "base_url": "http://x/v1"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": ""}, "empty `model`"),
        ({"base_url": "x"}, "`base_url` of model 'llm' is 'x'"),
        ({"headers": {"Authorization": "Bearer sk"}}, "api_key_env"),
        ({"headers": {"X-A": "a\nb"}}, "HTTP cannot carry"),
        ({"temperature": -0.1}, "temperature -0.1"),
        ({"temperature": float("nan")}, "temperature nan"),
        ({"max_tokens": 0}, "max_tokens 0"),
        ({"max_connections": 0}, "max_connections 0"),
        ({"max_response_bytes": 0}, "max_response_bytes 0"),
        ({"top_logprobs": 21}, "expected 0 to 20"),
        ({"top_logprobs": 2, "logprobs": False}, "no effect without `logprobs`"),
        ({"tool_choice": "auto"}, "no effect without `tools`"),
        ({"tools": [{"type": "function"}]}, "`tools` holds"),
        ({"response_format": {"type": "json"}}, "`response_format` of model 'llm' has type 'json'"),
        ({"extra_body": {"temperature": 1}}, "`temperature` in `extra_body`; it is an option"),
        ({"extra_body": {"stream": True}}, "one completion, sent whole"),
        ({"extra_body": {"n": 2}}, "one completion, sent whole"),
        ({"prices": Prices(input=-1)}, "price of -1"),
        ({"prices": Prices(cached_input=float("inf"))}, "price of inf"),
    ],
)
def test_options_that_cannot_work_are_told(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        OpenAiModel("llm", **{**LEAST, **options})


def test_a_name_that_no_workflow_file_could_write_is_told() -> None:
    with pytest.raises(UsageError, match="'a model' cannot be the name"):
        OpenAiModel("a model", **LEAST)


def test_its_card_says_what_it_is() -> None:
    card = OpenAiModel("llm", **LEAST, version="1.2.0", description="a small one").card
    assert (card.name, card.kind, card.version, card.scope) == ("llm", "openai", "1.2.0", Scope.PROCESS)
    assert card.effect_of("") is Effect.READ
    assert not card.trainable


@pytest.mark.parametrize(
    ("options", "same"),
    [
        ({"api_key_env": "K"}, True),
        ({"headers": {"X-A": "a"}}, True),
        ({"prices": Prices(input=1)}, True),
        ({"max_connections": 2}, True),
        ({"description": "x"}, True),
        ({"model": "large"}, False),
        ({"base_url": "http://y/v1"}, False),
        ({"temperature": 0.0}, False),
        ({"system": "x"}, False),
        ({"extra_body": {"top_p": 0.5}}, False),
        ({"version": "1.0.0"}, False),
    ],
)
def test_the_digest_covers_what_decides_the_answer(options: dict[str, Any], same: bool) -> None:
    assert (OpenAiModel("llm", **LEAST).card.digest == OpenAiModel("llm", **{**LEAST, **options}).card.digest) is same
