"""What a policy's weights mean: the alternatives it chooses from, and the features it sees. No arrays here."""

import math
from typing import Final

import msgspec

from stretto.types.errors import UsageError
from stretto.types.ids import Digest, digest_of

FORMAT: Final = "stretto.policy/1"
"""Name and major version of the checkpoint's form."""

ENCODING: Final = "hashed-1"
"""Version of all rules in `policy_features`. It is part of every checkpoint: weights mean nothing under others."""

DEFAULT_BUCKETS: Final = 2**16
"""Some tens of thousands: a few thousand features then seldom collide, and a dense matrix of them stays small."""

DEFAULT_TEXT_SCALE: Final = 0.2
"""Small beside the state: with tens of tasks, words at full weight are learnt by heart (measured on retail)."""

DEFAULT_ABOUT_SCALE: Final = 4.0
"""An alternative has a handful of facts beside the state's dozens, and all of them together must be able to outweigh
those within tens of steps of the optimiser (measured on retail)."""


class FeatureSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Which fields are read and how. Two equal specs give equal features."""

    text: tuple[str, ...] = ("words",)
    """Input fields with what people wrote: a string, a list of strings, or null."""
    state: tuple[str, ...] = ("state",)
    """Input fields with what is known: any JSON, read as one indicator for each leaf."""
    buckets: int = DEFAULT_BUCKETS
    ngrams: tuple[int, ...] = (1, 2)
    """Lengths of word sequences, in words."""
    text_scale: float = DEFAULT_TEXT_SCALE
    """Euclidean length of each text field's features; each fact of the state has the value 1."""
    encoding: str = ENCODING
    about: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """Input fields with what is known of each alternative: a mapping from alternatives to any JSON. Unset, not empty,
    when there is none: specs without it, and so the digests of their weights, are what they always were."""
    about_scale: float | msgspec.UnsetType = msgspec.UNSET
    """Value of each fact of an alternative; set just when `about` is."""

    def __post_init__(self) -> None:
        about = self.about or ()
        fields = (*self.text, *self.state, *about)
        if len(set(fields)) < len(fields):
            raise UsageError(
                f"a policy reads each input field once; text {self.text}, state {self.state} and about {about} overlap"
            )
        if not fields:
            raise UsageError(
                "a policy that reads no field cannot tell one request from another; name text, state or about"
            )
        if self.buckets < 2:
            raise UsageError(f"buckets is {self.buckets}; expected 2 or more, 65536 as a rule")
        if self.text and (not self.ngrams or min(self.ngrams) < 1):
            raise UsageError(f"ngrams is {list(self.ngrams)}; expected lengths of 1 word or more, such as [1, 2]")
        if not (math.isfinite(self.text_scale) and self.text_scale > 0):
            raise UsageError(f"text_scale is {self.text_scale}; expected a number above 0. To read no text: text: []")
        if self.about_scale is not msgspec.UNSET and not (math.isfinite(self.about_scale) and self.about_scale > 0):
            raise UsageError(f"about_scale is {self.about_scale}; expected a number above 0, such as 4")


class PolicySpec(msgspec.Struct, frozen=True, kw_only=True):
    """What the weights mean: rows by feature, columns by alternative, in this order.

    With `about` there is one more column, the last: what a fact of an alternative is worth, whichever it is.
    """

    alternatives: tuple[str, ...]
    prior: tuple[float, ...]
    """Added to the alternatives' logits before anything is learnt."""
    features: FeatureSpec
    format: str = FORMAT

    @property
    def columns(self) -> int:
        """K: numbers that each row of weights has."""
        return len(self.alternatives) + bool(self.features.about)

    @property
    def header(self) -> bytes:
        """Canonical JSON: equal specs give equal bytes."""
        return msgspec.json.encode(self, order="deterministic")


def weights_digest(spec: PolicySpec, rows: bytes = b"", values: bytes = b"") -> Digest:
    """Digest of the weights with these little-endian rows and values; with none, of the zero weights."""
    return digest_of(b"\0".join((spec.header, rows, values)))
