"""What a component reports beside its output, when no record can hold it."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
import pytest

from stretto.plan.model import Fallback
from stretto.record.codec import encode_run
from stretto.record.texts import MESSAGE_CHARS
from stretto.types.enums import Reason, RunStatus
from stretto.types.json import Json
from stretto.types.learning import Action, ModelCall, Reward
from stretto.types.messages import Request, Response, Usage
from tests.unit.engine.plans import Probe, S, call, linear, run

ACTION = Action(name="tool", chosen="a", support=("a", "b"), logprob=-0.7, propensity=0.5, policy="0" * 64)
NAN = float("nan")


def reporting(**report: Any) -> Probe:
    async def answer(_request: Request) -> object:
        return Response(output={"x": 1}, **report)

    return Probe("odd", answer)


REFUSED: Mapping[str, tuple[dict[str, Any], str]] = {
    "an action with NaN": ({"actions": (msgspec.structs.replace(ACTION, logprob=NAN),)}, "log-probability nan"),
    "a log-probability in words": (
        {"actions": (msgspec.structs.replace(ACTION, logprob="low"),)},
        "must be real number",
    ),
    "a choice that is no text": ({"actions": (msgspec.structs.replace(ACTION, chosen=3),)}, r"actions\[0\]\.chosen"),
    "a lone surrogate": ({"actions": (msgspec.structs.replace(ACTION, chosen="\ud800"),)}, "surrogates not allowed"),
    "no action at all": ({"actions": ("search",)}, "logprob"),
    "a reward of infinity": ({"rewards": (Reward(name="r", value=float("inf")),)}, "as inf with weight 1.0"),
    "a reward without a name": ({"rewards": (Reward(name=None, value=1.0),)}, r"rewards\[0\]\.name"),  # type: ignore[arg-type]  # what users give
    "tokens in words": ({"usage": Usage(input_tokens="many")}, r"usage\.input_tokens"),  # type: ignore[arg-type]  # what users give
    "a cost of NaN": ({"usage": Usage(cost=NAN)}, "a cost of nan"),
    "a cost beyond any float": ({"usage": Usage(cost=10**400)}, "too large"),
    "a cost below zero": ({"usage": Usage(cost=-0.5)}, "a cost of -0.5; expected 0 or more"),
    "tokens below zero": ({"usage": Usage(input_tokens=-7)}, "-7 tokens; expected 0 to"),
    "tokens that no sum can hold": ({"usage": Usage(output_tokens=2**63)}, "tokens; expected 0 to"),
    "a reward beyond any float": ({"rewards": (Reward(name="r", value=10**400),)}, "too large"),
    "an array of rewards": ({"rewards": np.zeros(2)}, "has no attribute 'weight'"),
    "a text that is none": ({"model_calls": (ModelCall(model="m", text=7),)}, r"model_calls\[0\]\.text"),  # type: ignore[arg-type]  # what users give
    "messages with NaN": ({"model_calls": (ModelCall(model="m", messages=[NAN]),)}, "messages are not JSON"),
    "model calls that are spent when they are recorded": ({"model_calls": iter(())}, "expected a tuple"),
    **{
        f"log-probabilities that are {what}": (
            {"model_calls": (ModelCall(model="m", logprobs=value),)},  # type: ignore[arg-type]  # what users give
            rf"'logprobs' is .*{says}.*; expected a numpy array of numbers",
        )
        for what, value, says in (
            ("objects", np.array([None, -0.1]), "object"),
            ("complex", np.array([1j]), "complex128"),
            ("times", np.array(["2026-01-01"], dtype="datetime64[s]"), "datetime64"),
            ("texts", np.array(["a"]), "<U1"),
            ("one number", np.float32(1), "float32"),
            ("a list", [1, 2], "list"),
            ("a text", "abc", "str"),
            ("a mapping", {"a": 1}, "dict"),
        )
    },
    **{
        f"an action with {what}": ({"actions": (msgspec.structs.replace(ACTION, **fields),)}, says)
        for what, fields, says in (
            ("a choice outside its support", {"chosen": "z"}, r"'z' chosen; expected one of its support \['a', 'b'\]"),
            ("an alternative twice", {"support": ("a", "a")}, "twice in its support"),
            ("more alternatives than are said to be available", {"available": (True,)}, "1 values in available for 2"),
            ("nothing but what is available", {"support": (), "available": (True,)}, "no support"),
            ("a choice that was not available", {"available": (False, True)}, "'a' chosen, which was not available"),
            ("a log-probability above 0", {"logprob": 5.0}, "log-probability 5.0; expected .* 0 or less"),
            ("a propensity above 1", {"propensity": 7.0}, "propensity 7.0; expected a probability"),
            ("a propensity of 0", {"propensity": 0.0}, "propensity 0.0; expected a probability"),
        )
    },
    "evidence that is a list": ({"evidence": [1]}, "is list; expected a mapping"),
    "evidence with NaN": ({"evidence": {"score": NAN}}, "is not JSON"),
}


@pytest.mark.parametrize(("report", "says"), REFUSED.values(), ids=REFUSED.keys())
def test_a_report_that_no_record_can_hold_fails_its_step_and_loses_no_run(report: dict[str, Any], says: str) -> None:
    result = run(linear(call(reporting(**report), S)))
    assert (result.status, result.reason) == (RunStatus.FAILED, Reason.CONTRACT)
    assert result.error is not None
    assert re.search(says, result.error.message), result.error.message
    assert encode_run(result)


@pytest.mark.parametrize(
    "fields",
    [
        {"logprob": 1e-8, "propensity": 1.0},
        {"available": (False, True), "forced": True},
        {"support": (), "logprob": 2.5},
    ],
    ids=["a sure choice as float32 has it", "what a rule chose against the mask", "a choice of no listed alternatives"],
)
def test_an_action_that_can_have_been_taken_is_recorded(fields: dict[str, Any]) -> None:
    action = msgspec.structs.replace(ACTION, **fields)
    assert run(linear(call(reporting(actions=(action,)), S))).steps[0].actions == (action,)


def test_evidence_is_kept_as_it_was_when_the_component_answered() -> None:
    class Word(str):
        """JSON's encoder takes it for text; others may not."""

    evidence: dict[str, Json] = {"word": Word("x"), "notes": [1]}

    async def answer(_request: Request) -> object:
        return Response(output={}, evidence=evidence)

    async def spoil(_request: Request) -> object:
        evidence["notes"] = [NAN]
        return {}

    result = run(linear(call(Probe("tells", answer), S), call(Probe("spoils", spoil), S + 1)))
    assert result.steps[0].evidence == {"word": "x", "notes": [1]}
    assert encode_run(result)


def test_messages_are_kept_as_they_were_when_the_component_answered() -> None:
    messages: list[Json] = [{"role": "user"}]

    async def answer(_request: Request) -> object:
        return Response(output={}, model_calls=(ModelCall(model="m", messages=messages),))

    async def spoil(_request: Request) -> object:
        messages.append(NAN)
        return {}

    result = run(linear(call(Probe("tells", answer), S), call(Probe("spoils", spoil), S + 1)))
    assert result.steps[0].model_calls[0].messages == [{"role": "user"}]
    assert encode_run(result)


def test_an_output_that_is_no_json_takes_its_report_along() -> None:
    async def answer(_request: Request) -> object:
        return Response(output={"x": NAN}, rewards=(Reward(name="r", value=NAN),))

    result = run(linear(call(Probe("odd", answer), S)))
    assert (result.status, result.steps[0].rewards) == (RunStatus.FAILED, ())


@pytest.mark.parametrize("report", [refused for refused, _ in REFUSED.values()], ids=REFUSED.keys())
def test_a_fallback_answers_for_such_a_step(report: dict[str, Any]) -> None:
    result = run(linear(call(reporting(**report), S, fallback=Fallback(output=b'{"x":2}'))))
    assert result.status is RunStatus.DEGRADED
    assert (result.steps[0].actions, result.steps[0].rewards, result.steps[0].evidence) == ((), (), {})
    assert encode_run(result)


def test_a_long_reason_of_a_reward_is_cut() -> None:
    result = run(linear(call(reporting(rewards=(Reward(name="r", value=1.0, reason="x" * 10_000_000),)), S)))
    assert result.reward == 1.0
    assert len(result.rewards[0].reason) < MESSAGE_CHARS + 50
    assert result.steps[0].rewards == result.rewards
