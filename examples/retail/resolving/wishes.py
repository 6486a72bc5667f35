"""What the customer's words ask a variant to be."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from words.values import told_values, value_pattern

from resolving.scales import relative

Item = Mapping[str, Any]
Values = Mapping[str, list[str]]
"""Option → values."""

NONE_SUCH: Final = "none such"
"""Stands for a value that was asked for and that no variant has."""

_CHEAPEST: Final = re.compile(r"\bcheapest\b|\bleast expensive\b|\blowest price")
_DEAREST: Final = re.compile(r"\bmost expensive\b|\bpriciest\b|\bhighest price")
_INSTEAD: Final = re.compile(r"\b(?:instead of|rather than)\b[^,.;]*|\bfrom\b[^,.;]*?(?=\bto\b)")
_BUT: Final = re.compile(r"\b(?:other than|except(?: for)?|anything but|any \w+ but)\b([^,.;]*)")
_AT_MOST: Final = re.compile(
    r"\b(?:under|below|less than|cheaper than|no more than|at most|up to|not exceed\w*) \$ ?(\d+(?:\.\d+)?)"
)
_PREFER: Final = re.compile(r"\b(?:prefer\w*|ideally)\b[^.;]*")
_MEASURE: Final = re.compile(r"(\d+(?:\.\d+)?)[- ]?([a-zA-Z]{2,})")
_INDIFFERENT: Final = re.compile(r"(?:\bnot|n't) (?:really )?(?:care|mind|matter)\b[^,.;]*")
_SAME: Final = re.compile(r"\b(?:same|keep\w*|without changing|otherwise identical)\b")
_THEN: Final = re.compile(r", ?((?:you|i|then|just|please)\b.*|[^,]*)$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """What one stretch of words asks."""

    wanted: Values
    """Several values of an option are alternatives, the dearest first."""
    unwanted: Values
    preferences: str
    """Words on what would be nicer, but need not be."""
    price: int
    """-1 for the cheapest, 1 for the dearest, 0 when price does not matter."""
    at_most: float | None
    """Dollars."""
    same: bool
    """Everything not named should stay as it is."""

    @property
    def empty(self) -> bool:
        """It asks for nothing that could be met."""
        return not (self.wanted or self.unwanted or self.preferences or self.price or self.at_most)


def read_wish(words: str, item: Item, keys: Values) -> Wish:
    """Read a wish about an item whose options have these values."""
    unwanted = " ".join(m.group(1) for m in _BUT.finditer(words))
    limit = _AT_MOST.search(words)
    words = _BUT.sub(" ", _INSTEAD.sub(" ", _INDIFFERENT.sub(" ", words)))
    return Wish(
        wanted=_wanted(words, item, keys),
        unwanted={key: told_values(unwanted, key, values) for key, values in keys.items()} if unwanted else {},
        preferences=preferences_in(words),
        price=-1 if _CHEAPEST.search(words) else 1 if _DEAREST.search(words) else 0,
        at_most=float(limit.group(1)) if limit else None,
        same=bool(_SAME.search(words)),
    )


def preferences_in(words: str) -> str:
    """The parts of the words that say what would be nicer."""
    return " ".join(m.group() for m in _PREFER.finditer(words))


def consequents(otherwise: str) -> list[str]:
    """What is wished in each of a chain of conditions: "if not, X. If X cannot be, Y"."""
    clauses = [_THEN.search(clause) for clause in re.split(r"[.;]\s", otherwise + " ")]
    return [match.group(1) for match in clauses if match]


def without_parts(values: list[str]) -> list[str]:
    """Drop a value that was only seen inside a longer one ("grey" in "space grey")."""
    return [v for v in values if not any(v != w and v.lower() in w.lower().split() for w in values)]


def _wanted(words: str, item: Item, keys: Values) -> dict[str, list[str]]:
    """Values that the words ask for, by option, preferences aside."""
    hard = _PREFER.sub(" ", words)
    wanted: dict[str, list[str]] = {}
    for key, values in keys.items():
        more_or_less = relative(hard, key, item["options"][key], values)
        told = more_or_less or without_parts(_adjacent(hard, key, values) or told_values(hard, key, values))
        if told:
            wanted[key] = _but_now(told, item["options"][key])
        elif _unheld(hard, values):
            wanted[key] = [NONE_SUCH]
        elif _same_option(key).search(hard):
            wanted[key] = [item["options"][key]]
    return _unshared(hard, wanted, keys)


def _but_now(told: list[str], now: str) -> list[str]:
    """Of several values, those that the item does not have: the words told where it comes from."""
    return [value for value in told if value != now] or told


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


def _unshared(words: str, wanted: dict[str, list[str]], keys: Values) -> dict[str, list[str]]:
    """Where two options claim one word ("medium"), the one it stands beside keeps it."""
    claimed = {v.lower(): key for key in wanted for v in _adjacent(words, key, keys[key])}
    result = {}
    for key, values in wanted.items():
        mine = [v for v in values if claimed.get(v.lower(), key) == key]
        if mine:
            result[key] = mine
    return result
