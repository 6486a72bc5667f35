"""Guesses which name somebody meant."""

from collections.abc import Iterable, Sequence
from typing import Final

CHARS_PER_SLIP: Final = 3
"""One wrong, missing, added or swapped character is forgiven for every three of the name; more is another word."""

MIN_PREFIX_CHARS: Final = 3
"""A shorter beginning fits too many names to be a hint."""

MOST_LISTED: Final = 12
"""Names in one message; more are looked up, not read."""

MOST_QUOTED: Final = 8
"""Values in one message: they only show of what kind they are."""


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that was most likely meant, or None when nothing is near enough to be worth saying.

    Case and the difference between ``-``, ``_`` and space do not count. A name that begins exactly one
    candidate is taken for it, and so is one of several words that only one candidate has all of. Equal
    distances go to the first in order of the candidates.
    """
    wanted = _plain(name)
    options = [(candidate, _plain(candidate)) for candidate in dict.fromkeys(candidates)]
    best, best_distance = None, max(1, len(wanted) // CHARS_PER_SLIP) + 1
    for candidate, plain in options:
        distance = slips(wanted, plain, best_distance)
        if distance < best_distance and distance < max(len(wanted), len(plain)):
            best, best_distance = candidate, distance
    return best or _completed(wanted, options) or _with_words(wanted, options)


def listed(names: Sequence[str], wrong: str) -> str:
    """The names that there are, for a message about a wrong one: of many those that have a word of it, or the first."""
    if len(names) <= MOST_LISTED:
        return ", ".join(names)
    words = set(_plain(wrong).split("_"))
    alike = [name for name in names if words & set(_plain(name).split("_"))]
    return f"{', '.join((alike or names)[:MOST_LISTED])}, ... ({len(names)} in all)"


def quoted(values: Sequence[str]) -> str:
    """The first values in quotes, for a message about what is allowed."""
    shown = ", ".join(f"'{value}'" for value in values[:MOST_QUOTED])
    return f"{shown}, ..." if len(values) > MOST_QUOTED else shown


def _completed(wanted: str, options: list[tuple[str, str]]) -> str | None:
    if len(wanted) < MIN_PREFIX_CHARS:
        return None
    begun = [candidate for candidate, plain in options if plain.startswith(wanted)]
    return begun[0] if len(begun) == 1 else None


def _with_words(wanted: str, options: list[tuple[str, str]]) -> str | None:
    words = set(wanted.split("_"))
    having = [candidate for candidate, plain in options if words <= set(plain.split("_"))]
    return having[0] if len(words) > 1 and len(having) == 1 else None


def _plain(name: str) -> str:
    return name.casefold().replace("-", "_").replace(" ", "_")


def slips(a: str, b: str, limit: int) -> int:
    """Insertions, deletions, replacements and swaps of neighbours between two texts, or `limit` when that many or more.

    The optimal string alignment distance (Damerau, Communications of the ACM 7, 1964).
    """
    if abs(len(a) - len(b)) >= limit:
        return limit
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, last, row = row, before, [i]
        for j, y in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
        if min(row) >= limit:
            return limit
    return min(row[-1], limit)
