"""A reward is computed term by term, and what cannot be computed is unknown, with the reason."""

import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema_rs
import numpy as np
import pytest

from stretto.components.python import Context, component_of
from stretto.components.reward import CompositeReward, reward
from stretto.types.errors import ComponentError, SpecError, UsageError
from stretto.types.learning import Reward
from stretto.types.messages import Usage


@reward
def api_success(calls: list[dict[str, Any]]) -> float:
    """Share of calls that the API accepted."""
    return len([call for call in calls if call["ok"]]) / len(calls)


@reward(terms=["gold_calls", "extra_calls"])
async def against_reference(calls: list[dict[str, Any]], ctx: Context) -> dict[str, Any]:
    gold: Any = ctx.reference
    ctx.usage(input_tokens=2)
    ctx.evidence("gold", gold)
    if gold is None:
        return {"gold_calls": None, "extra_calls": (None, "no reference was given")}
    return {"gold_calls": len(calls) == len(gold), "extra_calls": (float(len(calls) - len(gold)), "one too many")}


def latency(seconds: float = 0.0) -> float:
    return -seconds


CALLS = [{"ok": True}, {"ok": False}]


def composed(**options: Any) -> CompositeReward:
    return CompositeReward("reward-evaluator", [api_success, against_reference, latency], **options)


def single(function: Any) -> CompositeReward:
    made = component_of(function)
    assert isinstance(made, CompositeReward)
    return made


async def test_one_function_is_one_term_of_its_name(make_request: Any) -> None:
    evaluator = single(api_success)
    response = await evaluator(make_request(calls=CALLS))
    assert response.output == {"terms": {"api_success": 0.5}, "total": 0.5}
    assert response.rewards == (Reward(name="api_success", value=0.5),)
    assert (evaluator.card.kind, evaluator.card.name, evaluator.terms) == ("reward", "api_success", ("api_success",))
    assert evaluator.card.description == "Share of calls that the API accepted."
    assert api_success(calls=CALLS) == 0.5, "the function stays callable as it is"


async def test_terms_are_composed_and_added_up(make_request: Any) -> None:
    evaluator = composed()
    response = await evaluator(make_request(calls=CALLS, seconds=3.0, _reference=[1]))
    assert response.output["terms"] == {"api_success": 0.5, "gold_calls": 0.0, "extra_calls": 1.0, "latency": -3.0}  # type: ignore[index]
    assert response.output["total"] == 0.5 + 0.0 + 1.0 - 3.0  # type: ignore[index]
    assert [(r.name, r.weight, r.reason) for r in response.rewards][2] == ("extra_calls", 1.0, "one too many")
    assert response.usage == Usage(input_tokens=2)
    assert response.evidence == {"gold": [1]}
    assert jsonschema_rs.is_valid(dict(evaluator.card.output), response.output)


async def test_an_unknown_term_makes_the_total_unknown(make_request: Any) -> None:
    response = await composed()(make_request(calls=CALLS))
    assert response.output["total"] is None  # type: ignore[index]
    unknown = {r.name: r.reason for r in response.rewards if r.value is None}
    assert unknown == {"gold_calls": "the function returned None", "extra_calls": "no reference was given"}


async def test_a_function_that_raises_leaves_its_term_unknown_and_the_others_known(make_request: Any) -> None:
    response = await CompositeReward("r", [api_success, latency])(make_request(calls=[], seconds=1.0))
    failed, known = response.rewards
    assert failed.value is None
    assert "component 'api_success' raised ZeroDivisionError" in failed.reason
    assert f"({Path(__file__).name}:" in failed.reason
    assert known.value == -1.0


async def test_what_a_term_waited_is_told_once_of_an_error_that_it_raises_again(make_request: Any) -> None:
    again = ComponentError("full", queue_ms=5000.0)

    @reward
    def crowded() -> float:
        raise again

    assert (await single(crowded)(make_request())).queue_ms >= 5000.0
    assert (await single(crowded)(make_request())).queue_ms < 5000.0


@pytest.mark.parametrize(
    "number", [1, True, np.int64(1), np.float32(1), np.bool_(True), Fraction(2, 2), Decimal("1.0")], ids=repr
)
async def test_a_number_of_any_library_is_a_reward(make_request: Any, number: Any) -> None:
    @reward("r", inline=True)
    def given() -> Any:
        return number

    (known,) = (await single(given)(make_request())).rewards
    assert (known.value, type(known.value)) == (1.0, float)


@pytest.mark.parametrize("inline", [True, False])
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (math.nan, "nan, not a finite number"),
        (math.inf, "inf"),
        (10**400, "not a finite number"),
        (np.zeros(2), "not a finite number"),
        ("good", "'good', not a finite number"),
        ([1] * 99, "..."),
    ],
)
async def test_what_is_no_finite_number_is_unknown(make_request: Any, value: object, reason: str, inline: bool) -> None:
    @reward("r", inline=inline)
    def odd() -> Any:
        return value

    rewards = (await single(odd)(make_request())).rewards
    assert rewards[0].value is None
    assert reason in rewards[0].reason


@pytest.mark.parametrize(("value", "reason"), [({"a": 1}, "nothing for 'b'"), (3, "not a mapping of its terms")])
async def test_a_term_that_was_promised_and_not_given_is_unknown(make_request: Any, value: object, reason: str) -> None:
    @reward(terms=["a", "b"])
    def both() -> Any:
        return value

    last = (await single(both)(make_request())).rewards[-1]
    assert last.value is None
    assert reason in last.reason


def test_the_input_is_what_all_parts_take_together() -> None:
    schema = composed().card.input
    assert set(schema["properties"]) == {"calls", "seconds"}  # type: ignore[arg-type]
    assert schema["required"] == ["calls"]
    assert not jsonschema_rs.is_valid(dict(schema), {"calls": [], "x": 1})


def test_the_digest_covers_functions_and_version() -> None:
    cards = [
        composed().card,
        composed(version="1.0.0").card,
        CompositeReward("reward-evaluator", [latency]).card,
    ]
    assert len({card.digest for card in cards}) == 3
    assert composed().card.digest == composed().card.digest


def clashing(calls: str) -> float:
    return 0.0


@pytest.mark.parametrize(
    ("declare", "error", "message"),
    [
        (lambda: CompositeReward("r", [latency, latency]), SpecError, "two parts of the reward compute 'latency'"),
        (lambda: CompositeReward("r", [api_success, clashing]).card, SpecError, "'calls' has another type hint"),
        (lambda: CompositeReward("r", []), UsageError, "has no parts"),
        (lambda: CompositeReward("a b", [latency]), UsageError, "'a b' cannot be the name"),
        (lambda: reward("a b")(latency), SpecError, "'a b' cannot be the name"),
        (lambda: reward(terms=["a", "a"])(latency), SpecError, r"\['a', 'a'\]"),
        (lambda: reward(terms=["api-success"])(latency), SpecError, "letters, digits and _"),
    ],
)
def test_what_cannot_work_is_refused(declare: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        declare()
