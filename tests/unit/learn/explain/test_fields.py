"""Effects of fields, with a reward that is known."""

from stretto.learn.explain.fields import field_effects
from stretto.types.json import JsonObject

OUTPUT: JsonObject = {"price": 3, "colour": "red"}


async def cheap_and_red(output: JsonObject) -> float | None:
    price, colour = output["price"], output["colour"]
    assert isinstance(price, int)
    return None if price < 0 else (10 - price) + (5.0 if colour == "red" else 0.0)


async def test_each_field_is_worth_what_others_in_its_place_cost() -> None:
    others: list[JsonObject] = [{"price": 7, "colour": "red"}, {"price": 5, "colour": "blue"}]
    whole, *fields = await field_effects(OUTPUT, 12.0, others, cheap_and_red)
    assert (whole.field, whole.rewards, whole.effect) == ("", (8.0, 5.0), 5.5)
    assert [(each.field, each.rewards, each.effect) for each in fields] == [
        ("colour", (7.0,), 5.0),
        ("price", (8.0, 10.0), 3.0),
    ]


async def test_what_no_other_run_answered_otherwise_has_no_effect() -> None:
    whole, *fields = await field_effects(OUTPUT, 12.0, [OUTPUT, {**OUTPUT}], cheap_and_red)
    assert [each.effect for each in fields] == [None, None]
    assert [each.failed for each in fields] == [0, 0]
    assert whole.field == ""


async def test_answers_without_a_reward_are_counted() -> None:
    _, *fields = await field_effects(OUTPUT, 12.0, [{**OUTPUT, "price": -1}, {**OUTPUT, "price": 4}], cheap_and_red)
    (price,) = [each for each in fields if each.field == "price"]
    assert (price.rewards, price.failed, price.effect) == ((11.0,), 1, 1.0)


async def test_no_more_others_are_tried_than_were_asked_for_and_each_once() -> None:
    others: list[JsonObject] = [{**OUTPUT, "price": price} for price in (4, 4, 5, 6, 7)]
    _, *fields = await field_effects(OUTPUT, 12.0, others, cheap_and_red, most=2)
    (price,) = [each for each in fields if each.field == "price"]
    assert price.rewards == (11.0, 10.0)
