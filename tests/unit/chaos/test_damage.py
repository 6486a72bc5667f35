"""Answers that do not arrive as they were given."""

import random
from typing import Any

import pytest
from hypothesis import given, strategies as st

from stretto.chaos.damage import garbage, missing_field, truncated_body, wrong_type, wrong_value
from stretto.plan.check import Check
from stretto.types.card import Card
from stretto.types.errors import Code, ComponentError
from stretto.types.ids import digest_of
from stretto.types.messages import Response

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"intent": {"enum": ["track", "cancel"]}, "amount": {"type": "integer"}},
    "required": ["intent", "amount"],
    "additionalProperties": False,
}
CARD = Card(name="shop", version="1", kind="python", digest=digest_of(b""), output=SCHEMA)
ANSWER = Response(output={"intent": "track", "amount": 7})
SEEDS = st.integers(0, 2**32)


@given(SEEDS)
def test_a_body_that_broke_off_or_is_garbage_cannot_be_read(seed: int) -> None:
    for damage, code in ((truncated_body, Code.UNAVAILABLE), (garbage, Code.INTERNAL)):
        with pytest.raises(ComponentError, match="'shop' cannot be read") as raised:
            damage(ANSWER, CARD, None, {}, random.Random(seed))
        assert raised.value.rpc_code is code
        assert raised.value.sent


@given(SEEDS)
def test_a_wrong_type_and_a_missing_field_break_the_schema(seed: int) -> None:
    check = Check(SCHEMA)
    for damage in (wrong_type, missing_field):
        for field in (None, "intent", "amount"):
            assert not check.is_valid(damage(ANSWER, CARD, field, {}, random.Random(seed)))


@given(SEEDS)
def test_a_wrong_value_does_not(seed: int) -> None:
    changed = wrong_value(ANSWER, CARD, None, {}, random.Random(seed))
    assert changed == {"intent": "cancel", "amount": 7}
    assert Check(SCHEMA).is_valid(changed)


@pytest.mark.parametrize("value", ["text", 7, 1.5, True, None, [1], {"a": 1}])
def test_every_type_has_another(value: Any) -> None:
    changed: Any = wrong_type(Response(output={"a": value}), CARD, "a", {}, random.Random(1))
    assert type(changed["a"]) is not type(value)


@pytest.mark.parametrize("damage", [wrong_type, missing_field, wrong_value])
def test_what_is_not_there_is_not_damaged(damage: Any) -> None:
    assert damage(ANSWER, CARD, "other", {}, random.Random(1)) is None
    assert damage(Response(output={}), CARD, None, {}, random.Random(1)) is None
