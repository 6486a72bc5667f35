"""Durations to the nanosecond: the library reads what is too long as the longest it knows, and Python keeps only
microseconds."""

import re
from decimal import Decimal
from typing import Final

from stretto.types.arguments import INT64_MAX

UNITS: Final = {
    "h": 3_600_000_000_000,
    "m": 60_000_000_000,
    "s": 1_000_000_000,
    "ms": 1_000_000,
    "us": 1000,
    "\u00b5s": 1000,
    "\u03bcs": 1000,
    "ns": 1,
}
"""Nanoseconds of each unit; a millionth of a second has three names, as in Go, whose format CEL's is."""

_NUMBER: Final = r"(?:\d+(?:\.\d*)?|\.\d+)"
_UNIT: Final = "|".join(sorted(UNITS, key=len, reverse=True))
_PART: Final = re.compile(f"({_NUMBER})({_UNIT})")
_WHOLE: Final = re.compile(f"[-+]?(?:(?:{_NUMBER}(?:{_UNIT}))+|0)", re.ASCII)

LONGEST: Final = "2562047h47m16.854775807s"
"""2^63 - 1 ns, 292 years: CEL's durations are 64-bit nanoseconds, as are those of Go."""


def nanoseconds(text: str) -> int:
    """A duration's text, such as ``1h30m``, in nanoseconds. Raises ValueError with the reason."""
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"'{text}' is none; write numbers with h, m, s, ms, us or ns")
    total = sum((Decimal(number) * UNITS[unit] for number, unit in _PART.findall(text)), Decimal())
    if total > INT64_MAX:
        raise ValueError(f"'{text}' is longer than {LONGEST}")
    if total != int(total):
        raise ValueError(f"'{text}' is finer than a nanosecond")
    return -int(total) if text.startswith("-") else int(total)


def given(value: object) -> object:
    """`readable` of a text; what is none, as it is, for the library to refuse."""
    return readable(value) if isinstance(value, str) else value


def readable(text: str) -> str:
    """The same duration as the library reads it without a loss.

    Why a text is no duration stands in its place: the library refuses it with that very text, and puts a warning into
    the log for whatever is raised here.
    """
    try:
        total = nanoseconds(text)
    except ValueError as error:
        return str(error)
    seconds, rest = divmod(abs(total), UNITS["s"])
    return f"{'-' if total < 0 else ''}{seconds}s{rest}ns"


def in_seconds(text: str) -> str:
    """A duration's text as CEL writes it: ``5400.5s``."""
    total = nanoseconds(text)
    seconds, rest = divmod(abs(total), UNITS["s"])
    fraction = f".{rest:09}".rstrip("0").rstrip(".")
    return f"{'-' if total < 0 else ''}{seconds}{fraction}s"
