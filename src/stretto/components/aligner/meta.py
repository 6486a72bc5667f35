"""What an aligner's file says of itself: whose values it tells apart, how it reads texts, where it comes from."""

from collections.abc import Sequence
from typing import Final

import msgspec

from stretto.components.aligner.grams import Grams
from stretto.types.ids import Digest, digest_of

FORMAT: Final = "stretto.aligner/1"
"""Name and major version of the file's form."""

ENCODING: Final = "grams-1"
"""Version of all rules in `grams` and `model`: weights mean nothing under others."""

NONE_OF_THEM: Final = ""
"""The class of texts that mean no value of the domain; it stands last. No value of a domain is empty."""

EVIDENCE: Final = 9
"""Numbers that confidence is calibrated on; see `confidence.evidence`."""


class Lineage(msgspec.Struct, frozen=True, kw_only=True):
    """Where an aligner comes from."""

    version: int = 1
    """One more than the parent's."""
    parent: str = ""
    """Digest of the aligner that this one was trained on from; empty for a first training."""
    samples: int = 0
    """Labelled texts that it knows, the parents' included."""
    source: tuple[str, ...] = ()
    """Where the samples of this training came from: files' names, and ``corrections``."""
    trained_at: str = ""
    """UTC, ISO 8601."""


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """How well it aligned texts that it had not seen."""

    texts: int = 0
    accuracy: float = 0.0
    """Share that was right when every text had to be aligned."""
    coverage: float = 0.0
    """Share that was aligned at the threshold."""
    error: float = 0.0
    """Share that was wrong among those aligned at the threshold."""


class AlignerMeta(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON beside the weights."""

    domain: str
    values: tuple[str, ...]
    """Of the domain, in rising order: one column of the weights for each, and one more for none of them."""
    values_digest: Digest
    threshold: float
    """Confidence from which an answer is given, in [0, 1]."""
    calibration: tuple[float, ...]
    """Weights of the evidence and, last, the constant: confidence = 1 / (1 + exp(-(weights · evidence + constant)))."""
    unseen_idf: float
    """Weight of an n-gram that was never learnt from: it takes room in a text and speaks for no value."""
    steps: int = 0
    """Samples passed to the learner so far, each pass counted."""
    grams: Grams = Grams()
    lineage: Lineage = Lineage()
    measured: Measured = Measured()
    format: str = FORMAT
    encoding: str = ENCODING

    @property
    def classes(self) -> tuple[str, ...]:
        """What the columns of the weights stand for."""
        return (*self.values, NONE_OF_THEM)


def values_digest(values: Sequence[str]) -> Digest:
    """Digest of a domain's values, whatever their order."""
    return digest_of(msgspec.json.encode(sorted(values)))


def check_range(meta: AlignerMeta) -> str:
    """What is wrong with the numbers of a file's JSON; empty when nothing is."""
    if len(meta.calibration) != EVIDENCE + 1:
        return f"{len(meta.calibration)} numbers of calibration; expected {EVIDENCE + 1}"
    if not 0 <= meta.threshold <= 1:
        return f"the threshold {meta.threshold}; expected 0 to 1"
    if meta.values_digest != values_digest(meta.values) or list(meta.values) != sorted(set(meta.values)):
        return "values that are not those of its digest"
    if not meta.unseen_idf > 0:
        return f"unseen_idf {meta.unseen_idf}; expected a number above 0"
    return ""
