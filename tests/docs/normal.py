"""Whether two outputs say the same, whatever ids, digests, times and seeds they hold."""

import re
from typing import Final

ID: Final = re.compile(r"\b(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{64})\b")
"""A run's id, or a digest in full."""

_CHANGING: Final = (
    (ID.pattern, "ID"),
    (r"\b(?=[a-z]*\d)[0-9a-f]{8}\b", "SHORT"),
    (r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?\b", "TIME"),
    (r"\b\d+(?:\.\d+)?(?:e-\d+)? (?:ms|s|min \d\d s)\b", "DURATION"),
    (r'("\w+_ms": ?)[\d.e-]+', r"\1MS"),
    (r"\b\d+(?:\.\d+)? (?:B|KiB|MiB)\b", "SIZE"),
    (r"\bin \d+\.\d+s\b", "in DURATION"),
    (r"\b\d{12,}\b", "NUMBER"),
    (r'("seed": ?|tenant, seed +\S+, )\d+', r"\1SEED"),
    (r"[█░▒─·]+(?: +[█░▒─·]+)*", "BAR"),
    (r"[ \t]+", " "),
)
"""What differs from one run of the same example to the next, and what stands for it."""


ANY_LINES: Final = "..."


def normal(text: str) -> list[str]:
    """The lines of an output with everything that changes replaced."""
    for pattern, name in _CHANGING:
        text = re.sub(pattern, name, text)
    return [line.strip() for line in text.strip().splitlines()]


def same(expected: str, printed: str) -> bool:
    """Whether an output is what a page says; a line ``...`` of the page stands for any lines."""
    pattern = r"\n".join(".*" if line == ANY_LINES else re.escape(line) for line in normal(expected))
    return re.fullmatch(pattern, "\n".join(normal(printed)), re.DOTALL) is not None
