"""Components that are made in Python with something of the wrong type say so where they are made."""

from datetime import timedelta
from typing import Any

import pytest

import stretto
from stretto.types.errors import SpecError, UsageError

URL = "http://127.0.0.1:8000/v1"
NAME = "'3' cannot be the name of a component"


def judge(x: int) -> float:
    return float(x)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"name": 3}, NAME),
        ({"version": 1}, "Expected `str`, got `int` - at `$.version`"),
        ({"kind": None}, "Expected `str`, got `null` - at `$.kind`"),
        ({"idempotent": "no"}, "Expected `bool`, got `str` - at `$.idempotent`"),
        ({"action_field": 3}, "Expected `str`, got `int` - at `$.action_field`"),
        ({"effects": 3}, "effects=3 is not known"),
        ({"scope": 3}, "scope=3 is not known"),
    ],
)
def test_a_decorated_function(options: dict[str, Any], says: str) -> None:
    with pytest.raises(SpecError) as caught:
        stretto.component(**options)(judge)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("made", "options", "says"),
    [
        ("McpServer", {"name": 3, "command": "x"}, NAME),
        ("McpServer", {"command": 3}, "`command` is 3; expected a list"),
        ("McpServer", {"command": ["x", 3]}, "Expected `str`, got `int` - at `$.command[1]`"),
        ("McpServer", {"url": 3}, "Expected `str`, got `int` - at `$.url`"),
        ("McpServer", {"command": "x", "env": 3}, "at `$.env`"),
        ("McpServer", {"command": "x", "env": 0}, "at `$.env`"),
        ("McpServer", {"command": "x", "cwd": 3}, "`cwd` is 3; expected text or a pathlib.Path"),
        ("McpServer", {"command": "x", "tools": "search"}, "`tools` of MCP server 'a' is 'search'; expected a list"),
        ("McpServer", {"command": "x", "effects": 3}, "the effect of '*' is '3'"),
        ("McpServer", {"command": "x", "idempotent": "no"}, "Expected `bool`, got `str` - at `$.idempotent`"),
        ("McpServer", {"command": "x", "processes": "2"}, "at `$.processes`"),
        ("McpServer", {"command": "x", "start_timeout": 3}, "Expected `duration`, got `int` - at `$.start_timeout`"),
        ("McpServer", {"command": "x", "session": "user"}, "at `$.session`"),
        ("McpServer", {"command": "x", "confirm": 3}, "`confirm` of MCP server 'a' is 3; expected a function"),
        ("OpenAiModel", {"name": 3, "model": "m", "base_url": URL}, NAME),
        ("OpenAiModel", {"model": 3, "base_url": URL}, "model 'a': Expected `str`, got `int` - at `$.model`"),
        ("OpenAiModel", {"model": "m", "base_url": 3}, "at `$.base_url`"),
        (
            "OpenAiModel",
            {"model": "m", "base_url": URL, "stop": "END"},
            "`stop` of model 'a' is 'END'; expected a list",
        ),
        ("OpenAiModel", {"model": "m", "base_url": URL, "tools": {}}, "`tools` of model 'a' is {}; expected a list"),
        ("OpenAiModel", {"model": "m", "base_url": URL, "temperature": "hot"}, "at `$.temperature`"),
        ("OpenAiModel", {"model": "m", "base_url": URL, "headers": []}, "at `$.headers`"),
        ("OpenAiModel", {"model": "m", "base_url": URL, "extra_body": 3}, "at `$.extra_body`"),
        ("OpenAiModel", {"model": "m", "base_url": URL, "prices": 3}, "at `$.prices`"),
        ("RecencyMemory", {"name": 3}, NAME),
        ("RecencyMemory", {"limit": "5"}, "memory 'a': limit is '5'; expected a whole number from 1"),
        ("RecencyMemory", {"limit": True}, "memory 'a': limit is True"),
        ("RecencyMemory", {"limit": 0}, "memory 'a': limit is 0; expected a whole number from 1"),
        ("RecencyMemory", {"limit": 9, "keep": 3}, "limit is 9 and keep is 3"),
        ("RecencyMemory", {"by": 3}, "memory 'a': by is 3; expected text"),
        ("RecencyMemory", {"path": 3}, "memory 'a': path is 3; expected text or a pathlib.Path"),
        ("CompositeReward", {"name": 3, "parts": [judge]}, NAME),
        ("CompositeReward", {"parts": 3}, "the parts of reward 'a' is 3; expected a list"),
        ("CompositeReward", {"parts": []}, "reward 'a' has no parts"),
        ("CompositeReward", {"parts": [3]}, "a part of a reward is 3; expected a function"),
        ("CompositeReward", {"parts": [judge], "version": 3}, "the version of reward 'a' is 3; expected text"),
        ("SoftmaxPolicy", {"alternatives": "ab"}, "Expected `array`, got `str` - at `$.alternatives`"),
        ("SoftmaxPolicy", {"alternatives": ["a", 3]}, "at `$.alternatives[1]`"),
    ],
)
def test_a_component_that_is_made(made: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        getattr(stretto, made)(**{"name": "a"} | options)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"argument": 3}, "the argument of a session is 3; expected text"),
        ({"argument": "user", "values": 3}, "the values of a session is 3; expected a list"),
        ({"argument": "user", "values": "ab"}, "the values of a session is 'ab'; expected a list"),
        ({"argument": "user", "values": [1, 2]}, "a value of a session is 1; expected text"),
        ({"argument": "user", "values": ["a"], "reset": "clear"}, "the reset of a session is 'clear'; expected a tool"),
        ({"argument": "user", "values": ["a"], "reset": ("clear", 3)}, "expected a tool and its arguments"),
    ],
)
def test_a_session(options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        stretto.McpSession(**options)
    assert says in str(caught.value)


@pytest.mark.parametrize("terms", ["quick", 3, {"quick": 1}])
def test_the_terms_of_a_reward(terms: Any) -> None:
    with pytest.raises(UsageError, match=r"the terms of reward 'judge' is .*; expected a list"):
        stretto.reward(terms=terms)(judge)


def test_what_fits_is_taken() -> None:
    stretto.McpServer(
        "a", command=["x"], cwd=".", tools=["t"], effects={"t": "read"}, session=stretto.McpSession("user"),
        start_timeout=timedelta(seconds=1),
    )  # fmt: skip
    stretto.OpenAiModel("a", model="m", base_url=URL, seed="run", stop=["a"], headers={"a": "b"}, temperature=1)
    stretto.CompositeReward("a", (judge,))
