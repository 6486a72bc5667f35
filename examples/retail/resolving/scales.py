"""Less and more: option values in order, and what "larger" or "500 pieces less" makes of one."""

import re
from typing import Final

from words.lexicon import COMPARATIVES, SCALES, TO_THE_END

_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")
_MORE: Final = re.compile(r"(\d+) (?:more|additional|extra)\b|(\d+) pieces more")
_FEWER: Final = re.compile(r"(\d+) (?:fewer|less)\b|(\d+) pieces (?:fewer|less)")

BEYOND: Final = "beyond the scale"
"""Stands for a value past the last one: more was asked for than there is."""


def relative(wish: str, key: str, now: str, values: list[str]) -> list[str]:
    """Values that the wish's comparatives ask for, the nearest first; empty when it has none on this option."""
    order = ordered(key, values)
    if now not in order:
        return []
    if key == "pieces":
        for pattern, sign in ((_MORE, 1), (_FEWER, -1)):
            match = pattern.search(wish)
            if match:
                return [str(int(now) + sign * int(match.group(1) or match.group(2)))]
    here = order.index(now)
    for words, steps, about in COMPARATIVES:
        if key in about and re.search(rf"\b(?:{words})\b", wish):
            if abs(steps) == TO_THE_END:
                return [order[-1] if steps > 0 else order[0]]
            return (order[here + 1 :] if steps > 0 else order[:here][::-1]) or [BEYOND]
    return []


def ordered(key: str, values: list[str]) -> list[str]:
    """Values from least to most; empty when they have no order."""
    scale = SCALES.get(key)
    if scale and all(value in scale for value in values):
        return [value for value in scale if value in values]
    numbers = {value: match for value in values if (match := _NUMBER.match(value))}
    if len(numbers) < len(values):
        return []
    return sorted(values, key=lambda value: float(numbers[value].group()))
