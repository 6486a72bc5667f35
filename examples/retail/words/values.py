"""Option values in words: which values of an option a text names."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from words.lexicon import OPTION_WORDS, YES_NO

UNITS: Final = {
    "inch": "inch(?:es)?",
    "inches": "inch(?:es)?",
    "ft": "(?:ft|foot|feet)",
    "l": "(?:l|liters?|litres?)",
    "liter": "(?:l|liters?|litres?)",
    "liters": "(?:l|liters?|litres?)",
    "gb": "(?:gb|gigs?|gigabytes?)",
    "hours": "(?:hours?|hrs?|h)",
    "bar": "bars?",
    "cups": "cups?",
    "cup": "cups?",
    "piece": "pieces?",
    "mp": "(?:mp|megapixels?)",
    "degrees": "degrees?",
}
"""Other spellings of the units that option values have."""


def told_values(text: str, key: str, values: Iterable[str]) -> list[str]:
    """The values of one option that the text names, in the order of the text."""
    places = {}
    for value in values:
        match = value_pattern(key, value).search(text)
        if match:
            places[value] = match.start()
    return sorted(places, key=lambda value: places[value])


@lru_cache(maxsize=4096)
def value_pattern(key: str, value: str) -> re.Pattern[str]:
    """What names this value of this option."""
    if key in YES_NO and value in ("yes", "no"):
        yes, no = YES_NO[key]
        return re.compile(no if value == "no" else f"(?<!not )(?<!non-)(?:{yes})")
    if value == "none":
        head = re.escape(key.split()[0])
        return re.compile(rf"\b(?:no|without(?: an?| any)?) {head}\w*|\bno {re.escape(key)}")
    return re.compile(_plain(key, value))


def _plain(key: str, value: str) -> str:
    low = value.lower()
    if value in OPTION_WORDS:
        words = OPTION_WORDS[value].split("|")
        return r"(?<![\w-])(?:" + "|".join(_loose(word) for word in words) + r")(?![\w%])"
    if low.isdigit():
        head = re.escape(key.split()[0].rstrip("s"))
        return rf"\b{head}s? (?:of |to |is )?{low}\b|\b{low}[- ]?{head}|(?<!\d){low}(?= ?(?:-piece|piece))"
    return rf"(?<![\w.-])(?:{_loose(low)})(?![\w%])"


def _loose(low: str) -> str:
    """A value's pattern that takes "13-inch", "13 inch" and "13 inches", "4 ft" and "4 foot" alike."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)[- ]?([a-z]+)", low)
    if not match:
        return re.escape(low).replace(r"\-", "[- ]?").replace(r"\ ", "[- ]?")
    number, unit = match.groups()
    units = UNITS.get(unit, re.escape(unit))
    return rf"{re.escape(number)}[- ]?{units}"
