"""What the features of a policy are, in words: for whoever explains a choice. Not on the way of a call."""

from collections.abc import Iterator
from zlib import crc32

from stretto.components.policy_features import BIAS, leaves_of, texts_of, words_in
from stretto.components.policy_spec import FeatureSpec
from stretto.types.json import Json, JsonObject

ALWAYS = "always"
"""The feature that is on whatever is asked."""


def named_features(spec: FeatureSpec, data: JsonObject) -> dict[int, tuple[str, str]]:
    """Bucket of each feature of an input → the field that it is of, and the words or the fact that it stands for.

    What falls in one bucket is one feature, named by all.
    """
    found: dict[int, dict[str, str]] = {BIAS: {ALWAYS: ""}}
    for field in spec.text:
        for start, gram in _grams(spec, field, data.get(field)):
            found.setdefault(_bucket(spec, start), {}).setdefault(gram, field)
    for field in spec.state:
        for leaf in leaves_of(field, data.get(field)):
            found.setdefault(_bucket(spec, crc32(leaf.encode())), {}).setdefault(leaf, field)
    return {bucket: (next(iter(texts.values())), " or ".join(texts)) for bucket, texts in found.items()}


def named_about(spec: FeatureSpec, data: JsonObject) -> dict[int, tuple[str, str]]:
    """The same of what is known of the alternatives."""
    found: dict[int, dict[str, str]] = {}
    for field in spec.about or ():
        known = data.get(field)
        for each in known.values() if isinstance(known, dict) else ():
            for leaf in leaves_of(field, each):
                found.setdefault(_bucket(spec, crc32(leaf.encode())), {}).setdefault(leaf, field)
    return {bucket: (next(iter(texts.values())), " or ".join(texts)) for bucket, texts in found.items()}


def _grams(spec: FeatureSpec, field: str, value: Json) -> Iterator[tuple[int, str]]:
    """The hash of each sequence of words, and the words."""
    for text in texts_of(field, value):
        words = words_in(text)
        for n in spec.ngrams:
            for at in range(len(words) - n + 1):
                gram = words[at : at + n]
                yield _hash(field, gram), " ".join(gram)


def _hash(field: str, gram: list[str]) -> int:
    found = crc32(f"{field}~".encode())
    for word in gram:
        found = crc32(f"{word} ".encode(), found)
    return found


def _bucket(spec: FeatureSpec, found: int) -> int:
    return 1 + found % (spec.buckets - 1)
