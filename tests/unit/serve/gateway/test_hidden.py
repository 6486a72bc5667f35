"""What the agent did not ask for is taken out of real servers' answers, and nothing else."""

from typing import Any

import orjson
import pytest

from stretto.serve.gateway.ask import CHAT, TEXT, Ask
from stretto.serve.gateway.hide import hide
from tests.unit.components.openai.standin import recorded
from tests.unit.serve.gateway.conftest import HELLO


def ask(path: str = CHAT, **fields: Any) -> Ask:
    said: dict[str, Any] = {"messages": HELLO} if path == CHAT else {"prompt": "Once"}
    return Ask(path, orjson.dumps({"model": "m", **said, **fields}))


def asked(made: Ask) -> Any:
    return orjson.loads(made.body())


def test_vllms_answer_is_what_it_gives_without_being_asked() -> None:
    body, untold = recorded("vllm/end")["body"], recorded("vllm/tokens_as_ids")["body"]
    assert hide(body, ask().kept, is_chunk=False)
    assert set(untold) - set(body) == {"prompt_token_ids"}  # null there, as nothing is
    assert set(untold["choices"][0]) - set(body["choices"][0]) == {"token_ids"}
    assert body["choices"][0]["logprobs"] is None


def test_everything_that_was_asked_for_stays_byte_for_byte() -> None:
    made = ask(logprobs=True, top_logprobs=3, return_token_ids=True)
    assert made.added == frozenset()
    body = recorded("vllm/end")["body"]
    assert hide(body, made.kept, is_chunk=False)
    assert body == recorded("vllm/end")["body"]


def test_a_request_is_sent_on_as_it_was_written() -> None:
    body = b'{ "model": "m", "temperature": 1.10, "messages": [ {"role":"user",  "content":"\\u00e4"} ] }'
    sent = Ask(CHAT, body).body()
    assert b'"temperature":1.10' in sent
    assert b'[ {"role":"user",  "content":"\\u00e4"} ]' in sent
    assert Ask(CHAT, body).body(frozenset({"logprobs", "return_token_ids"})) == body


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({}, {"logprobs": True, "top_logprobs": 1, "return_token_ids": True}),
        ({"logprobs": False}, {"logprobs": True, "top_logprobs": 1, "return_token_ids": True}),
        ({"logprobs": True}, {"logprobs": True, "top_logprobs": 1, "return_token_ids": True}),
        ({"logprobs": True, "top_logprobs": 5}, {"logprobs": True, "top_logprobs": 5, "return_token_ids": True}),
        (
            {"stream": True, "stream_options": {"continuous_usage_stats": True}},
            {
                "logprobs": True,
                "top_logprobs": 1,
                "return_token_ids": True,
                "stream": True,
                "stream_options": {"continuous_usage_stats": True, "include_usage": True},
            },
        ),
    ],
)
def test_what_is_missing_is_asked_for_beside(given: dict[str, Any], sent: dict[str, Any]) -> None:
    assert asked(ask(**given)) == {"model": "m", "messages": HELLO, **sent}


@pytest.mark.parametrize(("given", "sent"), [({}, 1), ({"logprobs": 0}, 1), ({"logprobs": 4}, 4)])
def test_text_completions_count_their_log_probabilities(given: dict[str, Any], sent: int) -> None:
    assert asked(ask(TEXT, **given))["logprobs"] == sent


def test_of_a_text_completion_the_alternatives_are_hidden_and_the_sampled_stay() -> None:
    body: dict[str, Any] = {
        "choices": [
            {"text": "a", "logprobs": {"token_logprobs": [-1.0], "tokens": ["a"], "top_logprobs": [{"a": -1.0}]}}
        ]
    }
    hide(body, ask(TEXT, logprobs=0).kept, is_chunk=False)
    assert body["choices"][0]["logprobs"] == {"token_logprobs": [-1.0], "tokens": ["a"], "top_logprobs": None}


def test_a_chunk_that_only_tells_usage_is_hidden_and_one_that_tells_more_is_not() -> None:
    kept = ask(stream=True).kept
    assert not hide({"choices": [], "usage": {"prompt_tokens": 1}}, kept, is_chunk=True)
    more = {"choices": [{"text": "a"}], "usage": {"prompt_tokens": 1}}
    assert hide(more, kept, is_chunk=True)
    assert more == {"choices": [{"text": "a"}]}
    assert hide({"choices": []}, kept, is_chunk=True)  # as servers send to keep the connection open
