"""A request's input as sparse features: hashed word n-grams of its text, indicators of its state and alternatives.

Feature hashing (Weinberger et al. 2009, "Feature Hashing for Large Scale Multitask Learning"), without the sign:
with thousands of features in tens of thousands of buckets collisions are rare, and weights stay readable.
The hash is CRC-32, the same on every machine and in every process.
"""

import math
import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final, cast
from zlib import crc32

from stretto.components.policy_spec import FeatureSpec
from stretto.types.errors import Code, ComponentError
from stretto.types.json import Json, JsonObject

BIAS: Final = 0
"""Bucket of the feature that is always on; no hash falls there."""

EXACT_UP_TO: Final = 16
"""Whole numbers up to this size are told apart: counts and rounds matter one by one, larger ones by magnitude."""

_DIGITS: Final = str.maketrans("123456789", "000000000")
"""Digits lose their value: ``#W2378156`` says that an order id was given, and that generalises to other orders."""

_HAN_KANA: Final = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD: Final = re.compile(rf"[{_HAN_KANA}]|[^\W{_HAN_KANA}]+")
"""Words; a Han or Kana character is a word by itself, since those scripts put no space between words."""


Features = tuple[list[int], list[float]]
"""Buckets, each once, and their values."""

About = list[tuple[int, ...]]
"""For each alternative, in order, the buckets of its facts; each fact has the value `about_scale`."""


def features_of(spec: FeatureSpec, data: JsonObject) -> Features:
    """Features of one request's input; the bias comes first.

    A text field's features together have the length `text_scale`, so that a long text weighs no more than a short
    one; each fact of the state has the value 1.
    """
    values: dict[int, float] = {BIAS: 1.0}
    for field in spec.text:
        buckets = _text_buckets(spec, field, texts_of(field, data.get(field)))
        _add(values, buckets, spec.text_scale / math.sqrt(len(buckets) or 1))
    for field in spec.state:
        leaves = [crc32(leaf.encode()) for leaf in leaves_of(field, data.get(field))]
        _add(values, _buckets(leaves, spec.buckets), 1.0)
    return list(values), list(values.values())


def about_of(spec: FeatureSpec, alternatives: Sequence[str], data: JsonObject) -> About:
    """What one request's input tells of each alternative: one fact in several alternatives has one bucket.

    Raises ComponentError for what is no mapping from alternatives.
    """
    leaves: dict[str, list[int]] = {alternative: [] for alternative in alternatives}
    for field in spec.about or ():
        for alternative, known in _by_alternative(field, data.get(field), leaves).items():
            leaves[alternative] += [crc32(leaf.encode()) for leaf in leaves_of(field, known)]
    return [_buckets(hashes, spec.buckets) for hashes in leaves.values()]


def _by_alternative(field: str, value: Json, alternatives: Collection[str]) -> JsonObject:
    found = {} if value is None else value
    if not isinstance(found, dict):
        raise ComponentError(
            f"a policy's field '{field}' is {type(found).__name__}; expected a mapping from alternatives to what is "
            "known of each, or null",
            Code.INVALID_ARGUMENT,
        )
    unknown = [name for name in found if name not in alternatives]
    if unknown:
        raise ComponentError(
            f"a policy's field '{field}' tells of {unknown}, which it does not choose from; its alternatives are "
            f"{list(alternatives)}",
            Code.INVALID_ARGUMENT,
        )
    return found


def _add(values: dict[int, float], buckets: tuple[int, ...], value: float) -> None:
    for bucket in buckets:
        values[bucket] = values.get(bucket, 0.0) + value


def _buckets(hashes: list[int], buckets: int) -> tuple[int, ...]:
    """Distinct buckets, in order of first sight."""
    hashable = buckets - 1
    return tuple(dict.fromkeys([1 + h % hashable for h in hashes]))


@lru_cache(maxsize=512)  # a conversation's words are looked at again in each of its rounds
def _text_buckets(spec: FeatureSpec, field: str, texts: tuple[str, ...]) -> tuple[int, ...]:
    start = crc32(f"{field}~".encode())
    hashes: list[int] = []
    for text in texts:
        words = [f"{word} ".encode() for word in words_in(text)]
        grams = [start] * len(words)
        for n in range(1, max(spec.ngrams) + 1):
            grams = [crc32(word, gram) for word, gram in zip(words[n - 1 :], grams, strict=False)]
            if n in spec.ngrams:
                hashes += grams
    return _buckets(hashes, spec.buckets)


def words_in(text: str) -> list[str]:
    """The words of a text as features see them."""
    return _WORD.findall(text.casefold().translate(_DIGITS))


def texts_of(field: str, value: Json) -> tuple[str, ...]:
    """The texts of a field; raises ComponentError for what is none."""
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return tuple(cast("list[str]", value))
    raise ComponentError(
        f"a policy's text field '{field}' is {type(value).__name__}; expected a string, a list of strings, or null",
        Code.INVALID_ARGUMENT,
    )


def leaves_of(path: str, value: Json) -> Iterator[str]:
    """One text for each fact: ``state.order.status=pending``, ``state.items[]=...``, ``state.round:3``."""
    if isinstance(value, dict):
        yield from chain.from_iterable(leaves_of(f"{path}.{key}", child) for key, child in value.items())
    elif isinstance(value, list):
        yield f"{path}#{_magnitude(len(value))}"
        yield from chain.from_iterable(leaves_of(f"{path}[]", child) for child in value)
    elif isinstance(value, str):
        yield f"{path}={value}"
    elif isinstance(value, bool) or value is None:
        yield f"{path}:{value}"
    else:
        yield f"{path}:{_magnitude(value)}"


def _magnitude(number: float) -> str:
    """Small whole numbers as they are, all others to a quarter of their power of two (12 to 25 % apart)."""
    if number == int(number) and abs(number) <= EXACT_UP_TO:
        return str(int(number))
    mantissa, exponent = math.frexp(number)
    return f"{int(mantissa * 8)}/8*2^{exponent}"
