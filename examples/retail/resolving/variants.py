"""Which variant of a product fits a wish."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from words.mentions import Mention
from words.values import told_values

from resolving.wishes import Item, Values, Wish, consequents, preferences_in, read_wish, without_parts

Variants = Mapping[str, Mapping[str, Any]]
"""Variants of one product by item id."""


def choose(mention: Mention, item: Item, variants: Variants) -> str | None:
    """The available variant that fits the wish and is else nearest to the item; None if none fits."""
    choices = {i: v for i, v in variants.items() if v["available"] and i != item["item_id"]}
    if mention.wish_options is not None:
        return _nearest(_fitting(choices, {key: [value] for key, value in mention.wish_options.items()}), item)
    keys = {key: sorted({v["options"][key] for v in variants.values()}) for key in item["options"]}
    preferences = preferences_in(f"{mention.wish} ; {mention.otherwise}")
    first = replace(read_wish(mention.wish, item, keys), preferences=preferences)
    chosen = _best(first, choices, item, keys, strict=bool(mention.otherwise.strip(" ;.,")))
    for otherwise in consequents(mention.otherwise):
        second = read_wish(otherwise, item, keys)
        if chosen is None and second.wanted:
            both = replace(second, wanted={**first.wanted, **second.wanted}, preferences=preferences)
            chosen = _best(both, choices, item, keys, strict=False)
    return chosen


def _best(wish: Wish, choices: Variants, item: Item, keys: Values, *, strict: bool) -> str | None:
    """The best of the choices; with `strict`, *the same but* allows no other difference."""
    if wish.empty:
        return None
    wanted = wish.wanted
    if strict and wish.same:
        wanted = {key: wanted.get(key, [value]) for key, value in item["options"].items()}
    fitting = _fitting(_allowed(choices, wish), wanted)
    fitting = _preferred(fitting, wish.preferences, keys)
    if wish.price and fitting:
        return _by_price(wish, fitting, item)
    return _nearest(fitting, item)


def _allowed(choices: Variants, wish: Wish) -> Variants:
    """Variants without what is not wanted, and not above the price named."""
    return {
        item_id: variant
        for item_id, variant in choices.items()
        if (wish.at_most is None or variant["price"] <= wish.at_most)
        and not any(variant["options"].get(key) in values for key, values in wish.unwanted.items())
    }


def _fitting(choices: Variants, wanted: Values) -> Variants:
    """Variants with wanted values; where alternatives were named, the earliest that any variant has."""
    fitting = choices
    for key, values in wanted.items():
        for value in values:
            some = {i: v for i, v in fitting.items() if v["options"].get(key) == value}
            if some:
                fitting = some
                break
        else:
            return {}
    return fitting


def _preferred(fitting: Variants, preferences: str, keys: Values) -> Variants:
    """Narrow by preferences where some variant can meet them."""
    for key, values in keys.items():
        for value in without_parts(told_values(preferences, key, values)):
            some = {i: v for i, v in fitting.items() if v["options"][key] == value}
            if some:
                fitting = some
                break
    return fitting


def _by_price(wish: Wish, fitting: Variants, item: Item) -> str | None:
    """The cheapest or dearest; None when that gains nothing over the item and nothing else was asked."""
    chosen = min(fitting, key=lambda i: (-wish.price * fitting[i]["price"], i))
    gains = (fitting[chosen]["price"] - item["price"]) * wish.price > 0
    return chosen if gains or wish.wanted else None


def _nearest(fitting: Variants, item: Item) -> str | None:
    """The variant that shares most options with the item; the cheapest of equals."""
    if not fitting:
        return None

    def rank(item_id: str) -> tuple[int, float, str]:
        variant = fitting[item_id]
        same = sum(1 for key, value in item["options"].items() if variant["options"].get(key) == value)
        return (-same, variant["price"], item_id)

    return min(fitting, key=rank)
