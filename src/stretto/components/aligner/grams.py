"""A text as hashed n-grams: of characters, and beside them words, pairs of words, and pairs with a word between.

No tokenizer is needed: where a script puts no space between words (Han, Kana) the n-grams of its characters stand
for words. The hash is CRC-32, the same on every machine and in every process, its lowest bit given to say letters or
words: of tens of thousands of n-grams one in fifty thousand collides, and only those that were learnt from are kept
(Weinberger et al. 2009, "Feature Hashing for Large Scale Multitask Learning", without the fixed table).
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final
from unicodedata import normalize
from zlib import crc32

import msgspec

_DIGITS: Final = str.maketrans("123456789", "000000000")
"""Digits lose their value: ``#W2378156`` says that an order was named, and that generalises to other orders."""

_HAN_KANA: Final = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_RUN: Final = re.compile(rf"[{_HAN_KANA}]+|[^\W{_HAN_KANA}]+")
_IS_HAN_KANA: Final = re.compile(rf"[{_HAN_KANA}]")


WORD_BIT: Final = 1
"""Of a hash: set for n-grams of words, so that what letters say and what words say can be told apart."""


class Grams(msgspec.Struct, frozen=True, kw_only=True):
    """Which n-grams a text is seen as; an aligner's file carries it."""

    letters: tuple[int, int] = (2, 4)
    """Shortest and longest n-gram inside a word, its two edges counted as characters.

    Chosen on folds of BANKING77's train split (docs/log.md)."""
    signs: tuple[int, int] = (1, 3)
    """The same for scripts that put no space between words: one Han character already is about a syllable's meaning."""
    words: bool = True
    """Also words, pairs of neighbours, and pairs with one word between."""
    most_chars: int = 1000
    """What follows is not looked at: an utterance is shorter, and a book must not hold up the event loop."""


def counted(grams: Grams, text: str) -> dict[int, int]:
    """Hash (32 bits) of each n-gram of the text, and how often it stands there; empty for a text without words."""
    counts: dict[int, int] = {}
    runs = _runs(grams, text)
    for gram in _letters(grams, runs):
        hashed = _hash(gram) & ~WORD_BIT
        counts[hashed] = counts.get(hashed, 0) + 1
    for gram in _words(runs) if grams.words else ():
        hashed = _hash(gram) | WORD_BIT
        counts[hashed] = counts.get(hashed, 0) + 1
    return counts


def _hash(gram: str) -> int:
    return crc32(gram.encode("utf-8", "surrogatepass"))


def _runs(grams: Grams, text: str) -> list[str]:
    """The words, whatever their width, case and digits."""
    plain = normalize("NFKC", text[: grams.most_chars]).casefold().translate(_DIGITS)
    return _RUN.findall(plain)


def _letters(grams: Grams, runs: list[str]) -> Iterator[str]:
    for run in runs:
        if _IS_HAN_KANA.match(run):
            yield from _inside(run, grams.signs)
        else:
            yield from _inside(f" {run} ", grams.letters)


def _words(runs: list[str]) -> Iterator[str]:
    """Pairs are written so that none is taken for one of the other kind."""
    yield from runs
    yield from (f"{first} {second}" for first, second in pairwise(runs))
    yield from (f"{first} * {second}" for first, second in zip(runs, runs[2:], strict=False))


def _inside(run: str, lengths: tuple[int, int]) -> Iterator[str]:
    shortest, longest = lengths
    for n in range(shortest, longest + 1):
        for start in range(len(run) - n + 1):
            yield run[start : start + n]
