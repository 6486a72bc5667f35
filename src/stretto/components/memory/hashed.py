"""A text as one vector of hashed n-grams: what shares words, or parts of words, is near.

No tokenizer and no model: where a script puts no space between words (Han, Kana) the n-grams of its characters stand
for words. Each n-gram adds to one of the vector's numbers, or takes from it, as its hash says, so that n-grams that
collide cancel out in the mean (Weinberger et al. 2009, "Feature Hashing for Large Scale Multitask Learning", equation
2). The hash is CRC-32, the same on every machine and in every process. Digits keep their value: an order is looked for
by its number.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Final
from unicodedata import normalize
from zlib import crc32

import numpy as np

from stretto.components.memory.vectors import unit

if TYPE_CHECKING:
    from stretto.components.memory.backend import Vector

_HAN_KANA: Final = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_RUN: Final = re.compile(rf"[{_HAN_KANA}]+|[^\W_{_HAN_KANA}]+")
_IS_HAN_KANA: Final = re.compile(rf"[{_HAN_KANA}]")
_IS_KANA: Final = re.compile("[\u3040-\u30ff]")
_ACCENTS: Final = re.compile("[\u0300-\u036f]")

LETTERS: Final = (3, 5)
"""Shortest and longest n-gram inside a word, its two edges counted as characters (docs/log.md)."""

SIGNS: Final = (1, 2)
"""The same for scripts that put no space between words: two Han characters are about a word. One Kana is not: by
itself it is a syllable, and mostly grammar."""

_MIX: Final = 0x9E3779B1
"""2^32 over the golden ratio (Knuth, The Art of Computer Programming 3, section 6.4): CRC-32 alone is linear, and its
low bits say little of what stands first."""


def hashed_vector(text: str, dimensions: int) -> "Vector | None":
    """The text's direction; None for a text without letters and digits."""
    sums_D = np.zeros(dimensions)
    for gram, weight in _weights(text).items():
        hashed = crc32(gram.encode("utf-8", "surrogatepass")) * _MIX & 0xFFFFFFFF
        hashed ^= hashed >> 15
        sums_D[(hashed >> 1) % dimensions] += weight if hashed & 1 else -weight
    return unit(sums_D.tolist())


def _weights(text: str) -> dict[str, float]:
    """Each n-gram's weight: how often it is there counts by its logarithm."""
    runs = _RUN.findall(_plain(text))
    grams = Counter(gram for run in runs for gram in _parts(run))
    grams.update(f"={run}" for run in runs)
    grams.update(f"{first} {second}" for first, second in pairwise(runs))
    return {gram: 1.0 + math.log(count) for gram, count in grams.items()}


def _plain(text: str) -> str:
    """Whatever the width, case and accents: ``Café`` is ``cafe``; marks of other scripts are letters of theirs."""
    return normalize("NFKC", _ACCENTS.sub("", normalize("NFKD", text.casefold())))


def _parts(run: str) -> Iterator[str]:
    (shortest, longest), run = (SIGNS, run) if _IS_HAN_KANA.match(run) else (LETTERS, f"^{run}$")
    for n in range(shortest, longest + 1):
        grams = (run[start : start + n] for start in range(len(run) - n + 1))
        yield from (gram for gram in grams if n > 1 or not _IS_KANA.match(gram))
