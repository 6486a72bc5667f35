"""What a value means where it crosses from one component to another: how it may be aligned to a closed set."""

from enum import StrEnum
from typing import Final, Protocol, runtime_checkable
from unicodedata import normalize

import msgspec

from stretto.types.protocols import Component


class MeaningMode(StrEnum):
    """What happens at a crossing to a value that belongs to no value of its domain."""

    OFF = "off"
    """Nothing is looked at."""
    WARN = "warn"
    """It passes as it is, and is recorded."""
    ENFORCE = "enforce"
    """It is refused, and the step's fallback answers."""
    QUARANTINE = "quarantine"
    """As `enforce`; the step is marked besides, so that no fold learns from it and a person may label it."""


class AlignedBy(StrEnum):
    """What said which value of the domain is meant; asked in this order."""

    EXACT = "exact"
    """It is a value of the domain, or the translation of one of another domain."""
    SYNONYM = "synonym"
    RULE = "rule"
    LEARNED = "learned"
    ABSTAINED = "abstained"
    """Nothing said so surely enough."""


class Aligned(msgspec.Struct, frozen=True, kw_only=True):
    """Which value of a domain is meant by a text."""

    value: str
    """A value of the domain; of `abstained` the best guess, empty where there is none."""
    by: AlignedBy
    confidence: float = 1.0
    """In [0, 1]."""


class Aligner(Protocol):
    """What was learnt from labelled texts about one domain. Thread-safe, and quick: 3 ms at most on the event loop."""

    def align(self, text: str) -> Aligned | None:
        """The value that is meant, by `learned`, where the aligner's own threshold is met.

        Below it the best guess with its confidence, by `abstained`: whoever declares another threshold holds the
        confidence against that. None where there is not even a guess.
        """
        ...


@runtime_checkable
class AlignerComponent(Component, Aligner, Protocol):
    """A component of kind ``aligner``: a run is pinned to its card's digest as to any other's."""


MAX_ALIGNED_CHARS: Final = 1000
"""A longer text is no way to say one of a few values; it is not looked at, so that no crossing takes long."""


def folded(text: str) -> str:
    """How a text compares with others: without regard to case, width, and white space around and between words.

    NFKC_Casefold of Unicode (section 3.13, definition R5) but for the characters that it leaves out.
    """
    if not text.isascii():
        text = normalize("NFKC", normalize("NFKC", text).casefold())
    return " ".join(text.lower().split())
