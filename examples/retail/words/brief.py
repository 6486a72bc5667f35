"""What the customer's words say: who they are, which orders and items they name, what they want done. Pure, cached."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from words.events import order_ids
from words.lexicon import NUMBER_WORDS
from words.literals import cut_literals
from words.mentions import Mention, mentions
from words.merging import merged


@dataclass(frozen=True, kw_only=True, slots=True)
class Brief:
    """All that one customer's words say."""

    text: str
    """Lower case, option dictionaries blanked out, numbers of compounds as digits."""
    emails: tuple[str, ...]
    names: tuple[tuple[str, str], ...]
    zips: tuple[str, ...]
    """Where the customer lives first."""
    order_ids: tuple[str, ...]
    item_ids: tuple[str, ...]
    mentions: tuple[Mention, ...]
    """Every place where a thing is named."""
    things: tuple[Mention, ...]
    """The same, one a thing and intent."""


_BARE_ORDER: Final = re.compile(r"(?<![\d#w])\b\d{7}\b", re.IGNORECASE)
_ITEM: Final = re.compile(r"(?<!\d)\d{10}(?!\d)")
_EMAIL: Final = re.compile(r"[\w.+-]+@[\w-]+\.\w+")
_ZIP: Final = re.compile(r"(?<![\d#_@.])\b\d{5}\b(?![\d@])")
_HOME: Final = re.compile(r"\b(?:zip ?code|liv(?:e|ing)|resid\w+|zip|from|in)\b[^.\n]{0,60}?(?<!\d)(\d{5})(?!\d)")
_USER_ID: Final = re.compile(r"\b([a-z]+)_([a-z]+)_\d{4}\b")
_NAME: Final = re.compile(
    r"(?:\b[Yy]ou are|\b[Yy]ou're|\bname is|\bcalled|\buser|\bI am|\bI'm)\s+([A-Z][a-z]+)\s+([A-Z][a-z]+)"
)
_COMPOUND: Final = re.compile(
    r"\b(" + "|".join(NUMBER_WORDS) + r")(?=[- ](?:piece|inch|foot|feet|ft|liter|cup|hour)\w*\b)", re.IGNORECASE
)


@lru_cache(maxsize=1024)
def read(words: str) -> Brief:
    """Read the customer's words; cached, because every round of a conversation reads the same words again."""
    blank, literals = cut_literals(_COMPOUND.sub(lambda m: NUMBER_WORDS[m.group(1).lower()], words))
    low = blank.lower()
    named = mentions(low, literals)
    return Brief(
        text=low,
        emails=_unique(m.group() for m in _EMAIL.finditer(words)),
        names=_names(words),
        zips=_unique([*(m.group(1) for m in _HOME.finditer(words)), *(m.group() for m in _ZIP.finditer(words))]),
        order_ids=_unique([*order_ids(words), *(f"#W{m.group()}" for m in _BARE_ORDER.finditer(words))]),
        item_ids=_unique(m.group() for m in _ITEM.finditer(words)),
        mentions=named,
        things=merged(named),
    )


def _unique(found: Iterator[str] | list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found))


def _names(words: str) -> tuple[tuple[str, str], ...]:
    names = [(m.group(1), m.group(2)) for m in _NAME.finditer(words)]
    names += [(m.group(1).title(), m.group(2).title()) for m in _USER_ID.finditer(words)]
    return tuple(dict.fromkeys(names))
