"""Choices that depend on what they are about and on nothing else: not on timing, not on the order of runs."""

import random
from hashlib import blake2b
from typing import Final

_BITS: Final = 53
"""As many as a float keeps of a number below 1."""


def draw(seed: int, *about: object) -> float:
    """A number in [0, 1) that the seed and what it is about decide: U[0, 1) over either."""
    return (_bits(seed, *about) >> (64 - _BITS)) / (1 << _BITS)


def source(seed: int, *about: object) -> random.Random:
    """Many such numbers."""
    return random.Random(_bits(seed, *about))  # noqa: S311  # chaos keeps no secrets


def run_seed(seed: int, index: int) -> int:
    """The seed of a run; 63 bits, so that it is a JSON integer."""
    return _bits(seed, "run", index) >> 1


def _bits(seed: int, *about: object) -> int:
    text = "\x1f".join(map(str, (seed, *about)))
    return int.from_bytes(blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest(), "big")
