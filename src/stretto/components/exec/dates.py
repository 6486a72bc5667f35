"""Calendar dates in the layout of a field; ISO 8601 in JSON."""

import re
from datetime import date, timedelta
from typing import Final

from stretto.components.exec.misfit import MisfitError
from stretto.types.json import Json, JsonObject

ISO: Final = "YYYY-MM-DD"
COMPACT: Final = "YYYYMMDD"

PIVOT: Final = 69
"""Two-digit years from here on are of the twentieth century, those before of the next (POSIX.1-2024, strptime, %y)."""

_TOKEN: Final = re.compile(r"YYYY|YY|MM|DDD|DD")
_ENOUGH: Final = ({"YYYY", "MM", "DD"}, {"YY", "MM", "DD"}, {"YYYY", "DDD"}, {"YY", "DDD"})


def is_layout(layout: str) -> bool:
    """Whether a layout holds a year, and a month and a day or the day of the year, each once, and no other letters."""
    tokens = _TOKEN.findall(layout)
    rest = _TOKEN.sub("", layout)
    return set(tokens) in _ENOUGH and len(tokens) == len(set(tokens)) and re.fullmatch(r"[-/. ]*", rest) is not None


class DateCodec:
    """A date, in a layout of YYYY or YY, MM, DD or DDD (day of the year), and what separates them."""

    takes: Final[JsonObject] = {"type": "string", "format": "date", "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}
    gives: Final = takes

    def __init__(self, layout: str) -> None:
        self._layout = layout
        self._places = [(found[0], found.span()) for found in _TOKEN.finditer(layout)]

    def write(self, value: Json) -> str:
        if not isinstance(value, str) or len(value) != len(ISO):
            raise MisfitError("a date such as 2026-11-30")
        day = _made(value, [("YYYY", (0, 4)), ("MM", (5, 7)), ("DD", (8, 10))], ISO)
        if "YYYY" not in self._layout and not PIVOT <= day.year - 1900 < PIVOT + 100:
            raise MisfitError(f"a year from {1900 + PIVOT} to {1999 + PIVOT}, since the field has two digits for it")
        texts = {"YYYY": f"{day.year:04d}", "YY": f"{day.year % 100:02d}", "MM": f"{day.month:02d}"}
        texts |= {"DD": f"{day.day:02d}", "DDD": f"{day.timetuple().tm_yday:03d}"}
        return _TOKEN.sub(lambda found: texts[found[0]], self._layout)

    def read(self, text: str) -> Json:
        return _made(text, self._places, self._layout).isoformat()


def _made(text: str, places: list[tuple[str, tuple[int, int]]], layout: str) -> date:
    separators = _TOKEN.sub(lambda found: "0" * len(found[0]), layout)
    fits = len(text) == len(layout) and all(
        char.isascii() and char.isdigit() if mark == "0" else char == mark
        for char, mark in zip(text, separators, strict=True)
    )
    if not fits:
        raise MisfitError(f"a date as {layout}")
    parts = {token: int(text[start:end]) for token, (start, end) in places}
    year = parts.get("YYYY", -1)
    if year < 0:
        year = parts["YY"] + (1900 if parts["YY"] >= PIVOT else 2000)
    try:
        if "DDD" in parts:
            day = date(year, 1, 1) + timedelta(days=parts["DDD"] - 1)
            if day.year == year:
                return day
        else:
            return date(year, parts["MM"], parts["DD"])
    except (ValueError, OverflowError):
        pass
    raise MisfitError(f"a date as {layout} that the calendar has")
