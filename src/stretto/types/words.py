"""Figures, and texts that came from anywhere, as every layer writes them in sentences."""

import re
from typing import Final

_STEERING: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
    r"\u061c\u200b\u200e\u200f\u2060-\u2064\ufeff\U000e0000-\U000e007f]"
)
"""What would begin another line or column, steer a terminal, turn the reading order, or be there unseen; not the
joiners that scripts and emoji need."""


def number_text(value: float) -> str:
    """A figure with four digits that matter."""
    return f"{value:.4g}"


def count_text(number: int, one: str, many: str = "") -> str:
    """``1 step``, ``2 steps``, ``1,024 steps``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def escaped(text: str) -> str:
    """A text that came from anywhere on one line of a table, with what is no character to be read written as JSON and
    Python write it: a line break as ``\\n``."""
    return _STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
