"""Which address a customer means: one written out in the words, or one the shop already knows."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from facts import Facts
from words.brief import Brief
from words.events import SENTENCE
from words.lexicon import CITY_NAMES, CITY_STATES, STATES

Address = dict[str, str]

_STREET: Final = (
    r"street|st|drive|dr|avenue|ave|road|rd|lane|ln|highway|hwy|boulevard|blvd|court|ct|way|place|pl|circle|parkway"
)
_WRITTEN: Final = re.compile(rf"\b(\d+ (?:[a-z]+ )*?(?:{_STREET})\b\.?),? ([^.;()\n]{{2,60}}?),? (\d{{5}})\b")
_CITIES: Final = {city: city.title() for city in CITY_STATES} | dict(CITY_NAMES)
_CITY: Final = re.compile(r"\b(?:" + "|".join(sorted(_CITIES, key=len, reverse=True)) + r")\b")
_FIELDS: Final = ("address1", "address2", "city", "state", "country", "zip")
_BACK: Final = re.compile(r"\bback to (?:the|your|my) original")
_ABOUT: Final = re.compile(r"\baddress|\bship|\bsent\b|\bplace\b|\bmove|\bhome\b")
_TO: Final = re.compile(r"\b(?:to|match) (?:be )?")
_DEFAULT: Final = re.compile(r"^(?:the |your |my )?(?:\w+ )?(?:default|profile|user|home)\b")
_SAME_AS: Final = re.compile(
    r"\b(?:as|to|match|from|with) (?:(?:be|the|your|same|address|one|that|as|of|in|for|on|used|other) )*"
    r"(?:order )?(#w\d{7})"
)
_SENT_TO: Final = re.compile(r"\b(?:sent|shipped|delivered) to (?:this|the|that|there|your)\b")
_SUITE: Final = re.compile(r"(?:suite|apt|apartment|unit|#) ?\w+")


def written(text: str) -> Address | None:
    """An address spelt out in the words (lower case), or None."""
    for match in _WRITTEN.finditer(text):
        street, middle, code = match.groups()
        parts = [part.strip() for part in middle.split(",") if part.strip()]
        suite = parts.pop(0) if parts and _SUITE.fullmatch(parts[0]) else ""
        place = _place(parts)
        if place is not None:
            city, state = place
            return {
                "address1": _title(street),
                "address2": _title(suite),
                "city": city,
                "state": state,
                "country": "USA",
                "zip": code,
            }
    return None


def _place(parts: list[str]) -> tuple[str, str] | None:
    """City and state from what stands between street and zip code; the state may be left out."""
    parts = [part for part in parts if part not in ("usa", "us", "united states")]
    if not parts:
        return None
    if len(parts) == 1:
        city, _, last = parts[0].rpartition(" ")
        if city and last.upper() in STATES.values():
            parts = [city, last]
    state = _state(parts[1] if len(parts) > 1 else None, parts[0])
    return (_title(parts[0]), state) if state else None


def _state(state: str | None, city: str) -> str | None:
    if state and state.upper() in STATES.values():
        return state.upper()
    if state and state in STATES:
        return STATES[state]
    return CITY_STATES.get(city)


def _title(text: str) -> str:
    return " ".join(word.capitalize() for word in text.split())


@lru_cache(maxsize=1024)
def cities(text: str) -> tuple[str, ...]:
    """Cities the words name, in order."""
    return tuple(_CITIES[m.group()] for m in _CITY.finditer(text))


def known(facts: Facts) -> list[Address]:
    """Addresses that the server told: the profile's first, then each order's."""
    user = facts["user"]
    found = [user["address"]] if user else []
    found += [order["address"] for order in facts["orders"].values()]
    return [a for i, a in enumerate(found) if a not in found[:i]]


def addresses_meant(brief: Brief, facts: Facts) -> list[Address]:
    """The addresses that the words may ask to change something to, likeliest first."""
    text = brief.text
    moved = [call["arguments"] for call in facts["done"] if "zip" in call["arguments"]]
    given = [{key: arguments[key] for key in _FIELDS} for arguments in moved]
    if given:  # the customer moves to one place
        back = [facts["home"]] if _BACK.search(text) and facts["home"] else []
        return [given[0], *back]
    spelt = written(text)
    if spelt:
        return [spelt]
    default = facts["user"]["address"] if facts["user"] else None
    found = [*_of_order(brief, facts)]
    for part in _targets(text):
        if default and _DEFAULT.search(part):
            found.append(default)
        found += [a for city in cities(part) for a in known(facts) if a["city"] == city]
    found += [a for city in cities(text) for a in known(facts) if a["city"] == city]
    found += [a for a in known(facts) if a != default]
    if default:
        found.append(default)
    return [a for i, a in enumerate(found) if a not in found[:i]]


def _targets(text: str) -> list[str]:
    """What stands after the last "to" of each sentence on an address or a move, likeliest first."""
    parts = []
    for sentence in SENTENCE.split(text):
        if not _ABOUT.search(sentence):
            continue
        tos = [m.end() for m in _TO.finditer(sentence)]
        parts += [sentence[at : at + 60] for at in reversed(tos)]
    return parts


def _of_order(brief: Brief, facts: Facts) -> Iterator[Address]:
    """The address of another order, named by its id or by what was "sent to this new address"."""
    for match in _SAME_AS.finditer(brief.text):
        order = facts["orders"].get(match.group(1).upper())
        if order:
            yield order["address"]
    for mention in brief.mentions:
        if _SENT_TO.match(brief.text, brief.text.find(" ", mention.start + 3)) or _SENT_TO.search(mention.wish[:40]):
            for order in facts["orders"].values():
                if any(item["name"] in mention.products for item in order["items"]):
                    yield order["address"]


def differs(address: Address, other: Any) -> bool:
    """Whether two addresses are not the same place."""
    return any(address[key] != other[key] for key in address)
