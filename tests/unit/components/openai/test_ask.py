"""What is posted: declared, set by the call, and refused before it is sent."""

from typing import Any

import pytest

from stretto.components.openai.ask import request_body
from stretto.components.openai.settings import OpenAiSettings
from stretto.testing.request import request_for
from stretto.types.errors import Code, ComponentError
from stretto.types.json import JsonObject

TOOL: JsonObject = {"type": "function", "function": {"name": "get_order", "parameters": {"type": "object"}}}
OTHER: JsonObject = {"type": "function", "function": {"name": "get_user"}}
FORMAT: JsonObject = {"type": "json_object"}


def settings(**options: Any) -> OpenAiSettings:
    declared = OpenAiSettings(name="llm", model="small", base_url="http://x/v1", **options)
    declared.check()
    return declared


def body(declared: OpenAiSettings, **fields: Any) -> JsonObject:
    request = request_for(**fields)
    return request_body(declared, request.call, request.input)


def test_the_least_that_is_sent() -> None:
    assert body(settings(logprobs=False), prompt="hi") == {
        "model": "small",
        "messages": [{"role": "user", "content": "hi"}],
    }


def test_everything_that_is_declared_is_sent() -> None:
    declared = settings(
        system="be brief",
        temperature=0.5,
        max_tokens=8,
        stop=("END",),
        seed=7,
        response_format=FORMAT,
        tools=(TOOL,),
        tool_choice="get_order",
        top_logprobs=3,
        token_ids=True,
        extra_body={"top_p": 0.9},
    )
    assert body(declared, prompt="hi") == {
        "model": "small",
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}],
        "temperature": 0.5,
        "max_tokens": 8,
        "stop": ["END"],
        "seed": 7,
        "response_format": FORMAT,
        "tools": [TOOL],
        "tool_choice": {"type": "function", "function": {"name": "get_order"}},
        "logprobs": True,
        "top_logprobs": 3,
        "return_token_ids": True,
        "top_p": 0.9,
    }


def test_a_call_sets_what_it_needs_for_itself() -> None:
    sent = body(
        settings(temperature=0.5, max_tokens=8),
        prompt="hi",
        temperature=0,
        max_tokens=1,
        tools=[OTHER],
        tool_choice="required",
        response_format=FORMAT,
    )
    assert (sent["temperature"], sent["max_tokens"]) == (0, 1)
    assert (sent["tools"], sent["tool_choice"], sent["response_format"]) == ([OTHER], "required", FORMAT)


def test_null_leaves_what_is_declared() -> None:
    sent = body(settings(temperature=0.5, tools=(TOOL,)), prompt="hi", temperature=None, tools=None, tool_choice=None)
    assert (sent["temperature"], sent["tools"]) == (0.5, [TOOL])
    assert "tool_choice" not in sent


def test_a_call_with_tools_of_its_own_is_not_held_to_the_declared_choice() -> None:
    declared = settings(tools=(TOOL,), tool_choice="get_order")
    assert "tool_choice" not in body(declared, prompt="hi", tools=[OTHER])
    assert "tools" not in body(declared, prompt="hi", tools=[])


def test_messages_are_sent_as_they_are_after_the_system_message() -> None:
    messages = [{"role": "user", "content": [{"type": "text", "text": "hi"}], "name": "ann"}]
    assert body(settings(system="be brief"), messages=messages)["messages"] == [
        {"role": "system", "content": "be brief"},
        *messages,
    ]


@pytest.mark.parametrize("role", ["system", "developer"])
def test_two_system_messages_are_refused(role: str) -> None:
    with pytest.raises(ComponentError, match="leave one of the two out") as caught:
        body(settings(system="be brief"), messages=[{"role": role, "content": "x"}])
    assert (caught.value.rpc_code, caught.value.sent) == (Code.INVALID_ARGUMENT, False)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"tools": [{"name": "get_order"}]}, r"`tools` holds \{'name': 'get_order'\}; expected"),
        ({"tools": [TOOL, TOOL]}, "'get_order' twice"),
        ({"tools": [TOOL], "tool_choice": "get_ordr"}, "did you mean 'get_order'"),
        ({"tool_choice": "auto"}, "no effect without `tools`"),
        ({"response_format": {"type": "jason_object"}}, "expected json_object"),
        ({"response_format": {"type": "json_schema"}}, "holds no named schema"),
    ],
)
def test_what_no_server_could_answer_is_not_sent(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ComponentError, match=message) as caught:
        body(settings(), prompt="hi", **fields)
    assert (caught.value.rpc_code, caught.value.sent) == (Code.INVALID_ARGUMENT, False)


def test_the_run_s_seed_gives_one_seed_to_each_step_and_the_same_to_each_attempt() -> None:
    declared = settings(seed="run")
    seeds = [
        body(declared, prompt="hi", _seed=seed, _path=path, _attempt=attempt)["seed"]
        for seed, path, attempt in [(1, "a", 1), (1, "a", 2), (1, "b", 1), (2, "a", 1)]
    ]
    assert seeds[0] == seeds[1]
    assert len(set(seeds)) == 3
    assert all(isinstance(seed, int) and 0 <= seed < 2**31 for seed in seeds)
