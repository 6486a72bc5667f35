"""Option values in words: which values of an option the customer names, and which variant fits a wish."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

from words.lexicon import COMPARATIVES, SCALES
from words.mentions import Mention
from words.values import told_values, value_pattern

Variant = dict[str, Any]

_CHEAPEST: Final = re.compile(r"\bcheapest\b|\bleast expensive\b|\blowest price")
_DEAREST: Final = re.compile(r"\bmost expensive\b|\bpriciest\b|\bhighest price")
_INSTEAD: Final = re.compile(r"\b(?:instead of|rather than)\b[^,.;]*")
_PREFER: Final = re.compile(r"\bprefer\w*\b[^.;]*")
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")
_THEN: Final = re.compile(r", ?((?:you|i|then|just|please)\b.*|[^,]*)$")
_MEASURE: Final = re.compile(r"(\d+(?:\.\d+)?)[- ]?([a-zA-Z]{2,})")
_INDIFFERENT: Final = re.compile(r"(?:\bnot|n't) (?:really )?(?:care|mind|matter)\b[^,.;]*")
_SAME: Final = re.compile(r"\b(?:same|keep\w*|without changing|otherwise identical)\b")
_MORE: Final = re.compile(r"(\d+) (?:more|additional|extra)\b|(\d+) pieces more")
_FEWER: Final = re.compile(r"(\d+) (?:fewer|less)\b|(\d+) pieces (?:fewer|less)")


def choose(mention: Mention, item: Variant, variants: Mapping[str, Variant]) -> str | None:
    """The available variant that fits the wish and is else nearest to the item; None if none fits."""
    choices = {i: v for i, v in variants.items() if v["available"] and i != item["item_id"]}
    if mention.wish_options is not None:
        return _nearest(_fitting(choices, {key: [value] for key, value in mention.wish_options.items()}), item)
    keys = {key: sorted({v["options"][key] for v in variants.values()}) for key in item["options"]}
    preferences = _preferences(f"{mention.wish} ; {mention.otherwise}")
    first = replace(_Wish.of(mention.wish, item, keys), preferences=preferences)
    chosen = first.best(choices, item, keys, strict=bool(mention.otherwise.strip(" ;.,")))
    for otherwise in _consequents(mention.otherwise):
        second = _Wish.of(otherwise, item, keys)
        if chosen is None and second.wanted:
            both = replace(second, wanted=first.wanted | second.wanted, preferences=preferences)
            chosen = both.best(choices, item, keys, strict=False)
    return chosen


def _preferences(words: str) -> str:
    return " ".join(m.group() for m in _PREFER.finditer(words))


def _consequents(otherwise: str) -> list[str]:
    """What is wished in each of a chain of conditions: "if not, X. If X cannot be, Y"."""
    clauses = [_THEN.search(clause) for clause in re.split(r"[.;]\s", otherwise + " ")]
    return [match.group(1) for match in clauses if match]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Wish:
    """What one stretch of words asks of a variant."""

    wanted: dict[str, list[str]]
    """Values by option; several are alternatives, the dearest first."""
    preferences: str
    price: int
    """-1 for the cheapest, 1 for the dearest, 0 when price does not matter."""
    same: bool
    """Everything not named should stay as it is."""

    @classmethod
    def of(cls, words: str, item: Variant, keys: Mapping[str, list[str]]) -> "_Wish":
        words = _INSTEAD.sub(" ", _INDIFFERENT.sub(" ", words))
        return cls(
            wanted=_wanted(words, item, keys),
            preferences=_preferences(words),
            price=-1 if _CHEAPEST.search(words) else 1 if _DEAREST.search(words) else 0,
            same=bool(_SAME.search(words)),
        )

    def best(
        self, choices: Mapping[str, Variant], item: Variant, keys: Mapping[str, list[str]], *, strict: bool
    ) -> str | None:
        """The best of the choices; with `strict`, *the same but* allows no other difference."""
        wanted = self.wanted
        if not wanted and not self.preferences and not self.price:
            return None
        if strict and self.same:
            wanted = {key: wanted.get(key, [value]) for key, value in item["options"].items()}
        fitting = _prefer(_fitting(choices, wanted), self.preferences, keys)
        if self.price and fitting:
            return self._by_price(fitting, item)
        return _nearest(fitting, item)

    def _by_price(self, fitting: Mapping[str, Variant], item: Variant) -> str | None:
        chosen = min(fitting, key=lambda i: (-self.price * fitting[i]["price"], i))
        gains = (fitting[chosen]["price"] - item["price"]) * self.price > 0
        return chosen if gains or self.wanted else None


def _wanted(words: str, item: Variant, keys: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Values that the words ask for, by option, preferences aside."""
    hard = _PREFER.sub(" ", words)
    wanted: dict[str, list[str]] = {}
    for key, values in keys.items():
        relative = _relative(hard, key, item["options"][key], values)
        told = relative or _without_parts(_adjacent(hard, key, values) or told_values(hard, key, values))
        if told:
            wanted[key] = told
        elif _unheld(hard, values):
            wanted[key] = ["none such"]
        elif _same_option(key).search(hard):
            wanted[key] = [item["options"][key]]
    return _unshared(hard, wanted, keys)


def _unheld(words: str, values: list[str]) -> bool:
    """Whether the words name a measure of this option ("8 bar") that no variant has."""
    units = {m.group(2) for m in (_MEASURE.fullmatch(value) for value in values) if m}
    return any(re.search(rf"(?<![\w.-])\d+(?:\.\d+)?[- ]?{re.escape(unit)}\b", words) for unit in units)


@lru_cache(maxsize=256)
def _same_option(key: str) -> re.Pattern[str]:
    heads = "|".join(re.escape(word) for word in key.split())
    return re.compile(rf"\b(?:same|keep(?:ing)?(?: the)?)\b (?:\w+ (?:and )?){{0,3}}?(?:{heads})\b")


def _adjacent(words: str, key: str, values: list[str]) -> list[str]:
    """Values named right beside their option's own name: "high ventilation", "size 8"."""
    heads = "|".join(re.escape(word) for word in key.split() if word not in ("type", "of"))
    found = []
    for value in values if heads else []:
        plain = value_pattern(key, value).pattern
        if re.search(rf"(?:{plain})[ -](?:{heads})|\b(?:{heads})(?: of| to| is)? (?:{plain})", words):
            found.append(value)
    return found


def _unshared(words: str, wanted: dict[str, list[str]], keys: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Where two options claim one word ("medium"), the one it stands beside keeps it."""
    claimed = {v.lower(): key for key in wanted for v in _adjacent(words, key, keys[key])}
    result = {}
    for key, values in wanted.items():
        mine = [v for v in values if claimed.get(v.lower(), key) == key]
        if mine:
            result[key] = mine
    return result


def _without_parts(values: list[str]) -> list[str]:
    """Drop a value that was only seen inside a longer one ("grey" in "space grey")."""
    return [v for v in values if not any(v != w and v.lower() in w.lower().split() for w in values)]


def _relative(wish: str, key: str, now: str, values: list[str]) -> list[str]:
    """Values that "larger", "500 pieces less" and the like ask for."""
    order = _ordered(key, values)
    if now not in order:
        return []
    here = order.index(now)
    if key == "pieces":
        for pattern, sign in ((_MORE, 1), (_FEWER, -1)):
            match = pattern.search(wish)
            if match:
                return [str(int(now) + sign * int(match.group(1) or match.group(2)))]
    for words, steps, about in COMPARATIVES:
        if key in about and re.search(rf"\b(?:{words})\b", wish):
            if abs(steps) == 9:
                return [order[-1] if steps > 0 else order[0]]
            further = order[here + 1 :] if steps > 0 else order[:here][::-1]
            return further or ["-"]
    return []


def _ordered(key: str, values: list[str]) -> list[str]:
    """Values from least to most; empty when they have no order."""
    scale = SCALES.get(key)
    if scale and all(value in scale for value in values):
        return [value for value in scale if value in values]
    numbers = {value: _NUMBER.match(value) for value in values}
    if all(numbers.values()):
        return sorted(values, key=lambda value: float(_NUMBER.match(value).group()))  # type: ignore[union-attr]
    return []


def _fitting(choices: Mapping[str, Variant], wanted: Mapping[str, list[str]]) -> dict[str, Variant]:
    """Variants with wanted values; where alternatives were named, the earliest that any variant has."""
    fitting = dict(choices)
    for key, values in wanted.items():
        for value in values:
            some = {i: v for i, v in fitting.items() if v["options"].get(key) == value}
            if some:
                fitting = some
                break
        else:
            return {}
    return fitting


def _prefer(fitting: dict[str, Variant], preferences: str, keys: Mapping[str, list[str]]) -> dict[str, Variant]:
    """Narrow by preferences where some variant can meet them."""
    for key, values in keys.items():
        for value in _without_parts(told_values(preferences, key, values)):
            some = {i: v for i, v in fitting.items() if v["options"][key] == value}
            if some:
                fitting = some
                break
    return fitting


def _nearest(fitting: Mapping[str, Variant], item: Variant) -> str | None:
    """The variant that shares most options with the item; the cheapest of equals."""
    if not fitting:
        return None

    def rank(item_id: str) -> tuple[int, float, str]:
        variant = fitting[item_id]
        same = sum(1 for key, value in item["options"].items() if variant["options"].get(key) == value)
        return (-same, variant["price"], item_id)

    return min(fitting, key=rank)
