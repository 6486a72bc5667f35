"""What is made of an answer: recorded ones of real servers, and the differences between servers as data."""

import math
from typing import Any

import numpy as np
import orjson
import pytest

from stretto.components.openai.answer import response_of
from stretto.components.openai.settings import OpenAiSettings, Prices
from stretto.components.openai.wire import decode
from stretto.types.enums import Outcome
from stretto.types.json import JsonObject
from stretto.types.messages import Response, Usage
from tests.unit.components.openai.standin import completion, recorded

JSON: JsonObject = {"response_format": {"type": "json_object"}}
MESSAGES: list[Any] = [{"role": "user", "content": "hi"}]


def settings(**options: Any) -> OpenAiSettings:
    return OpenAiSettings(name="llm", model="small", base_url="http://x/v1", **options)


def read(answer: dict[str, Any], body: JsonObject | None = None, **options: Any) -> Response:
    asked: JsonObject = {"messages": MESSAGES, **(body or {})}
    return response_of(settings(**options), asked, decode.decode(orjson.dumps(answer)), 0.0)


def replayed(name: str, **options: Any) -> Response:
    """The response made of a recorded answer to its recorded request."""
    case = recorded(name)
    return read(case["body"], case["request"], **options)


def output(response: Response) -> dict[str, Any]:
    assert isinstance(response.output, dict)
    return response.output


def test_a_completion_of_vllm_is_recorded_token_by_token() -> None:
    response = replayed("vllm/end")
    (call,) = response.model_calls
    assert output(response) == {
        "text": "Hi.",
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": "Hi."},
    }
    assert call.completion_ids is not None
    assert call.logprobs is not None
    assert call.prompt_ids is not None
    assert call.mask is not None
    assert call.completion_ids.tolist() == [26843, 30, 2], "the end-of-turn token is one that was sampled"
    assert call.logprobs.tolist() == pytest.approx([-1.4018253, -0.8415706, -0.5393488])
    assert [call.completion_ids.dtype, call.logprobs.dtype, call.mask.dtype] == [np.int32, np.float32, np.bool_]
    assert call.mask.all()
    assert len(call.prompt_ids) == call.prompt_tokens == 34
    assert (call.model, call.finish_reason, call.completion_tokens, call.text) == ("smollm2", "stop", 3, "Hi.")
    assert call.messages == recorded("vllm/end")["request"]["messages"]
    assert response.usage == Usage(input_tokens=34, output_tokens=3)
    assert response.evidence["system_fingerprint"] == "vllm-0.32.0-b120ee62"


def test_a_completion_of_llama_cpp_has_ids_beside_its_log_probabilities() -> None:
    (call,) = replayed("llama_cpp/end").model_calls
    assert call.completion_ids is not None
    assert call.logprobs is not None
    assert call.completion_ids.tolist() == [26843, 30, 2]
    assert len(call.logprobs) == 3
    assert call.prompt_ids is None, "it tells none, and none are made from the text"
    assert call.prompt_tokens == 34


def test_vllm_keeps_the_tokens_of_a_stop_text_and_llama_cpp_drops_them() -> None:
    kept, dropped = replayed("vllm/stop").model_calls[0], replayed("llama_cpp/stop").model_calls[0]
    assert kept.text == dropped.text == "1. 1\n2. 2\n"
    assert kept.completion_ids is not None
    assert dropped.completion_ids is not None
    assert (len(kept.completion_ids), kept.completion_tokens) == (11, 11)
    assert (len(dropped.completion_ids), dropped.completion_tokens) == (10, 11)


@pytest.mark.parametrize("name", ["vllm/length", "llama_cpp/length"])
def test_a_completion_cut_at_its_limit_says_so(name: str) -> None:
    response = replayed(name)
    assert output(response)["finish_reason"] == "length"
    assert response.outcome is Outcome.PARTIAL


@pytest.mark.parametrize("name", ["vllm/json", "llama_cpp/json"])
def test_json_that_was_asked_for_is_parsed(name: str) -> None:
    assert output(replayed(name))["parsed"] == {"color": "red"}


def test_ids_written_as_text_are_read() -> None:
    (call,) = replayed("vllm/tokens_as_ids").model_calls
    assert call.completion_ids is not None
    assert call.completion_ids.tolist() == [26843, 30, 2]


def test_probabilities_after_sampling_become_log_probabilities() -> None:
    (call,) = replayed("llama_cpp/post_sampling").model_calls
    given = recorded("llama_cpp/post_sampling")["body"]["choices"][0]["logprobs"]["content"]
    assert call.logprobs is not None
    assert call.logprobs.tolist() == pytest.approx([math.log(token["prob"]) for token in given])


def test_arguments_that_are_no_object_are_given_as_text() -> None:
    response = replayed("vllm/tool_call")
    (asked,) = output(response)["tool_calls"]
    assert (asked["name"], asked["arguments"], asked["text"]) == ("get_weather", None, '"Paris"')
    assert output(response)["text"] == ""
    (call,) = response.model_calls
    assert call.completion_ids is not None
    assert len(call.completion_ids) == call.completion_tokens == 48, "the tokens of the call itself are recorded"


def tool_call(arguments: Any, **call: Any) -> dict[str, Any]:
    function = {"name": "f", "arguments": arguments}
    return completion(message={"content": None, "tool_calls": [{"id": "c1", "function": function, **call}]})


@pytest.mark.parametrize(
    ("arguments", "read_as"),
    [
        ('{"city": "Paris"}', {"arguments": {"city": "Paris"}}),
        ({"city": "Paris"}, {"arguments": {"city": "Paris"}}),
        ('{"number": 99999999999999999999}', {"arguments": {"number": 99999999999999999999}}),
        ("[" * 5000 + "]" * 5000, {"arguments": None, "text": "[" * 5000 + "]" * 5000}),
        ("", {"arguments": {}}),
        (None, {"arguments": {}}),
        ("{'city': 1}", {"arguments": None, "text": "{'city': 1}"}),
        ("[1]", {"arguments": None, "text": "[1]"}),
        ([1], {"arguments": None, "text": "[1]"}),
    ],
)
def test_arguments_of_a_tool_call_are_an_object_or_text(arguments: Any, read_as: JsonObject) -> None:
    (asked,) = output(read(tool_call(arguments)))["tool_calls"]
    assert asked == {"id": "c1", "name": "f", **read_as}


def test_a_message_with_tool_calls_goes_back_in_the_form_of_the_api() -> None:
    assert output(read(tool_call({"city": "Paris"}, id=None)))["message"] == {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": "", "type": "function", "function": {"name": "f", "arguments": '{"city":"Paris"}'}},
        ],
    }


def test_tool_calls_are_always_there_when_tools_were_given() -> None:
    assert output(read(completion(), {"tools": []}))["tool_calls"] == []
    assert "tool_calls" not in output(read(completion()))


TOKEN = {"token": "a", "logprob": -0.5, "bytes": [97]}
IDS_AND_LOGPROBS = [
    pytest.param({}, {}, None, None, None, id="openai, nothing asked"),
    pytest.param({"logprobs": None}, {}, None, None, None, id="a server that does not know logprobs"),
    pytest.param({"logprobs": {"content": [TOKEN]}}, {}, None, None, [-0.5], id="openai"),
    pytest.param({"logprobs": {"content": None, "refusal": [TOKEN]}}, {}, None, None, [-0.5], id="openai, refusal"),
    pytest.param({"logprobs": {"content": []}, "token_ids": []}, {}, None, None, None, id="an empty completion"),
    pytest.param(
        {"logprobs": {"content": [TOKEN]}, "token_ids": [5]},
        {"prompt_token_ids": [1, 2]},
        [1, 2],
        [5],
        [-0.5],
        id="vllm",
    ),
    pytest.param({"token_ids": [5, 6]}, {"prompt_token_ids": [1]}, [1], [5, 6], None, id="vllm without logprobs"),
    pytest.param(
        {"logprobs": {"content": [TOKEN]}, "token_ids": [5], "prompt_token_ids": [1, 2]},
        {},
        [1, 2],
        [5],
        [-0.5],
        id="sglang",
    ),
    pytest.param(
        {
            "logprobs": {"content": [TOKEN]},
            "prompt_token_ids": [1],
            "meta_info": {"output_token_logprobs": [[-0.5, 5, None]], "weight_version": "3"},
        },
        {},
        [1],
        [5],
        [-0.5],
        id="sglang with meta_info",
    ),
    pytest.param({"logprobs": {"content": [{**TOKEN, "id": 5}]}}, {}, None, [5], [-0.5], id="llama.cpp"),
    pytest.param(
        {"logprobs": {"tokens": ["a"], "token_logprobs": [-0.5], "text_offset": [0]}},
        {},
        None,
        None,
        [-0.5],
        id="llama-cpp-python, the form of text completions",
    ),
    pytest.param(
        {"logprobs": {"content": [{"token": "token_id:5", "logprob": -0.5}]}}, {}, None, [5], [-0.5], id="as text"
    ),
    pytest.param(
        {"logprobs": {"content": [{"token": "token_id:x", "logprob": -0.5}]}}, {}, None, None, [-0.5], id="no id"
    ),
    pytest.param({"logprobs": {"content": [TOKEN, {"token": "b"}]}}, {}, None, None, None, id="one is missing"),
    pytest.param({"logprobs": {"content": [{"token": "b", "prob": 0.0}]}}, {}, None, None, [-math.inf], id="no chance"),
]


@pytest.mark.parametrize(("choice", "around", "prompt_ids", "ids", "logprobs"), IDS_AND_LOGPROBS)
def test_tokens_are_recorded_as_given(
    choice: dict[str, Any],
    around: dict[str, Any],
    prompt_ids: list[int] | None,
    ids: list[int] | None,
    logprobs: list[float] | None,
) -> None:
    (call,) = read({**completion(**choice), **around}).model_calls
    arrays = (call.prompt_ids, call.completion_ids, call.logprobs)
    assert [None if array is None else array.tolist() for array in arrays] == [prompt_ids, ids, logprobs]
    length = len(ids or logprobs or [])
    assert (0 if call.mask is None else int(call.mask.sum())) == length


def test_log_probabilities_that_do_not_match_the_ids_are_left_out_and_that_is_told() -> None:
    response = read(completion(logprobs={"content": [TOKEN]}, token_ids=[5, 6]))
    (call,) = response.model_calls
    assert call.completion_ids is not None
    assert (call.completion_ids.tolist(), call.logprobs) == ([5, 6], None)
    assert response.evidence["tokens"] == (
        "the server gave 2 token ids and 1 log-probabilities; the latter are left out"
    )


def test_log_probabilities_that_no_token_can_have_are_left_out_and_that_is_told() -> None:
    response = read(completion(logprobs={"content": [{**TOKEN, "logprob": 0.25}]}, token_ids=[5]))
    (call,) = response.model_calls
    assert (call.completion_ids is not None, call.logprobs) == (True, None)
    assert response.evidence["tokens"] == (
        "the server gave the log-probability 0.25, which is that of no token; they are left out"
    )


def test_ids_that_were_asked_for_and_not_given_are_missed() -> None:
    answer = {**completion(), "usage": {"prompt_tokens": 5, "completion_tokens": 2}}
    missed = "the server gave no token ids, though they were asked for"
    assert read(answer, token_ids=True).evidence == {"tokens": missed}
    assert read(answer).evidence == {}
    assert read(completion(""), token_ids=True).evidence == {}


def test_the_version_of_the_weights_covers_all_tokens() -> None:
    meta = {"output_token_logprobs": [[-0.5, 5, "a"], [-0.1, 6, "b"]], "weight_version": "3"}
    assert read(completion(meta_info=meta)).model_calls[0].policy_versions == (("3", 2),)
    assert read(completion(meta_info={"weight_version": "3"})).model_calls[0].policy_versions == ()


def test_the_likeliest_tokens_are_given_when_declared() -> None:
    likely = [{"token": "yes", "logprob": -0.1}, {"token": "no", "logprob": -2.5}, {"token": "", "prob": 0.0}]
    answer = completion(logprobs={"content": [{**TOKEN, "top_logprobs": likely}, TOKEN]})
    assert output(read(answer, top_logprobs=3))["top_logprobs"] == [likely[:2], []]
    assert "top_logprobs" not in output(read(answer))


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"content": "a"}, {"text": "a"}),
        ({"content": None}, {"text": ""}),
        ({}, {"text": ""}),
        (
            {"content": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]},
            {"text": "ab"},
        ),
        ({"content": "a", "reasoning_content": "hm"}, {"text": "a", "reasoning": "hm"}),
        ({"content": "a", "reasoning": "hm"}, {"text": "a", "reasoning": "hm"}),
        ({"content": None, "refusal": "I cannot"}, {"text": "", "refusal": "I cannot"}),
    ],
)
def test_what_the_model_said(message: dict[str, Any], expected: dict[str, Any]) -> None:
    told = output(read(completion(message=message)))
    assert {name: told.get(name) for name in ("text", "reasoning", "refusal") if name in told} == expected
    assert told["message"] == {"role": "assistant", "content": expected["text"]}


@pytest.mark.parametrize(
    ("choice", "outcome"),
    [
        ({}, Outcome.OK),
        ({"finish_reason": None}, Outcome.OK),
        ({"finish_reason": "tool_calls"}, Outcome.OK),
        ({"finish_reason": "length"}, Outcome.PARTIAL),
        ({"finish_reason": "content_filter"}, Outcome.REFUSED),
        ({"message": {"refusal": "I cannot"}}, Outcome.REFUSED),
    ],
)
def test_the_outcome_follows_the_end(choice: dict[str, Any], outcome: Outcome) -> None:
    assert read(completion(**choice)).outcome is outcome


def test_text_that_is_not_the_json_asked_for_leaves_parsed_out_and_that_is_told() -> None:
    response = read(completion("{'a': 1}"), JSON)
    assert "parsed" not in output(response)
    assert str(response.evidence["parsed"]).startswith("the text is not JSON")
    assert output(read(completion('{"number": 99999999999999999999}'), JSON))["parsed"] == {"number": 10**20 - 1}
    assert "parsed" not in output(read(completion("1")))


PRICES = Prices(input=10.0, output=100.0, cached_input=1.0)


@pytest.mark.parametrize(
    ("usage", "prices", "expected"),
    [
        (None, None, Usage()),
        ({"prompt_tokens": 5, "completion_tokens": None}, None, Usage(input_tokens=5)),
        ({"prompt_tokens": 5, "completion_tokens": 2}, PRICES, Usage(input_tokens=5, output_tokens=2, cost=250e-6)),
        (
            {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 3}},
            PRICES,
            Usage(input_tokens=5, output_tokens=2, cost=223e-6),
        ),
        (
            {"prompt_tokens": 5, "completion_tokens": 0, "prompt_tokens_details": {"cached_tokens": 9}},
            Prices(input=10.0),
            Usage(input_tokens=5, cost=50e-6),
        ),
    ],
)
def test_what_it_cost(usage: dict[str, Any] | None, prices: Prices | None, expected: Usage) -> None:
    found = read({**completion(), "usage": usage}, prices=prices).usage
    assert found is not None
    assert (found.input_tokens, found.output_tokens) == (expected.input_tokens, expected.output_tokens)
    assert found.cost == pytest.approx(expected.cost)


def test_tokens_are_counted_where_the_server_counts_none() -> None:
    answer = {**completion(token_ids=[5, 6]), "prompt_token_ids": [1, 2, 3]}
    assert read(answer).usage == Usage(input_tokens=3, output_tokens=2)
