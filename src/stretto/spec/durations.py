"""Durations as people write them: ``800ms``, ``1.5s``, ``2m``, ``1h``, ``1m30s``, ``30d``."""

import re
from datetime import timedelta
from typing import Final

from stretto.spec.suggest import nearest

UNITS: Final = {
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
}
"""In the order in which they may follow each other."""

LONGEST: Final = timedelta(days=365)
"""Nothing that a run waits for takes longer; a larger figure is a slip of the unit."""

PATTERN: Final = "^(?=.)" + "".join(rf"(?:([0-9]+(?:\.[0-9]+)?){unit})?" for unit in UNITS) + "$"
"""As a regular expression, for Python and for JSON Schema alike."""

EXPECTED: Final = "a duration with its unit: 800ms, 1.5s, 2m, 1h, 1m30s or 30d"

_MOST_S: Final = 1e12
"""A `timedelta` holds 86 times as much."""

_DURATION: Final = re.compile(PATTERN)
_NUMBER: Final = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([^\W\d_]*)\s*")
_WORDS: Final = {
    "msec": "ms",
    "millisecond": "ms",
    "milliseconds": "ms",
    "sec": "s",
    "secs": "s",
    "second": "s",
    "seconds": "s",
    "min": "m",
    "mins": "m",
    "minute": "m",
    "minutes": "m",
    "hr": "h",
    "hrs": "h",
    "hour": "h",
    "hours": "h",
    "day": "d",
    "days": "d",
}


def duration_or_none(text: str) -> timedelta | None:
    """Read a duration of at most a year; None when the text is none."""
    found = _DURATION.fullmatch(text)
    if found is None:
        return None
    try:
        total = sum(
            (float(number) * unit for number, unit in zip(found.groups("0"), UNITS.values(), strict=True)), timedelta()
        )
    except OverflowError:
        return None
    return total if total <= LONGEST else None


def seconds(duration: timedelta | None) -> float | None:
    """As a number; None stays None."""
    return None if duration is None else duration.total_seconds()


def render(duration: timedelta) -> str:
    """Write a duration the way people do, ``1m30s``, ``1.5s``; what is below a microsecond is lost."""
    left, parts = duration, []
    for unit, length in UNITS.items():
        rest = left / length
        if unit == "ms" or (unit == "s" and rest > 1):  # 1.5s rather than 1s500ms
            count, left = round(rest, 6), timedelta()
        else:
            count = left // length
            left -= count * length
        if count:
            parts.append(f"{count:f}".rstrip("0").rstrip(".") + unit)
    return "".join(parts) or "0s"


def render_s(seconds: float) -> str:
    """Write seconds as a duration, as far as one goes: what is added up may come to more."""
    if seconds > _MOST_S:
        return f"{seconds:.3g}s"
    return render(timedelta(seconds=round(seconds, 6)))


def remedy(text: str) -> str:
    """What was probably meant, ready to paste; empty when nobody can tell."""
    if text.lstrip().startswith("-"):
        return "a duration is never negative"
    if _DURATION.fullmatch(text):
        return "at most a year (365d)"
    found = _NUMBER.fullmatch(text)
    if found is None:
        return ""
    number, unit = found[1], found[2].casefold()
    if not unit:
        return f"{number}ms or {number}s"
    if unit == "us":
        return f"{float(number) / 1000:g}ms"
    known = _WORDS.get(unit) or (unit if unit in UNITS else nearest(unit, _WORDS))
    return f"{number}{_WORDS.get(known, known)}" if known else ""
