"""An aligner's numbers: one row of weights for each n-gram that was ever learnt from, each label, and their file.

Shape letters: N rows (n-grams, by their hash, rising), C classes (the values in rising order, then none of them),
B texts.

A text is the vector of its n-grams, each weighed 1 + log of its count, times how rare it is (idf), scaled to length
1 (Salton & Buckley 1988, "Term-weighting approaches in automatic text retrieval", the scheme *ltc*). N-grams that
were never seen count in the length, and so a text of a strange kind scores low for every value.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.components.aligner.confidence import Floats, Ints, best_values, confidence, evidence
from stretto.components.aligner.grams import WORD_BIT, Grams, counted
from stretto.components.aligner.labels import Labels
from stretto.components.aligner.meta import AlignerMeta, Lineage, Measured
from stretto.components.tensor_file import write_tensors
from stretto.types.ids import Digest, digest_of

Hashes = npt.NDArray[np.uint32]
Floats32 = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]


class Vocabulary:
    """The n-grams that were learnt from, and how much each weighs in a text; never changed once made."""

    def __init__(self, grams: Grams, hashes_N: Hashes, idf_N: Floats32, unseen_idf: float) -> None:
        self.grams = grams
        self.hashes_N = hashes_N
        self.idf_N = idf_N
        self.unseen_idf = unseen_idf

    def vector(self, text: str) -> tuple[Rows, Floats]:
        """Rows of the text's known n-grams, and their values; both empty where it has none.

        The values' squares sum to the share of the text that is known: 1 when all of it is.
        """
        return self.weighed(counted(self.grams, text))

    def weighed(self, counts: Mapping[int, int]) -> tuple[Rows, Floats]:
        """The same, for n-grams that were counted already."""
        hashes = np.fromiter(counts, np.uint32, len(counts))
        weights = 1.0 + np.log(np.fromiter(counts.values(), np.float64, len(counts)))
        rows = np.searchsorted(self.hashes_N, hashes)
        known = rows < len(self.hashes_N)
        known[known] = self.hashes_N[rows[known]] == hashes[known]
        weights[known] *= self.idf_N[rows[known]]
        weights[~known] *= self.unseen_idf
        length = np.sqrt(weights @ weights) or 1.0
        return rows[known], weights[known] / length

    def parts(self, counts: Mapping[int, int], weights_NC: Floats32) -> tuple[Floats, Floats]:
        """What the letters of a text and what its words say for each class, shape C each."""
        rows, values = self.weighed(counts)
        words = (self.hashes_N[rows] & WORD_BIT).astype(bool)
        letters = ~words
        return values[letters] @ weights_NC[rows[letters]], values[words] @ weights_NC[rows[words]]


class AlignerModel:
    """Vocabulary, weights and what they mean; never changed once made, so that any thread may ask it."""

    def __init__(
        self,
        meta: AlignerMeta,
        hashes_N: Hashes,
        idf_N: Floats32,
        weights_NC: Floats32,
        intercepts_C: Floats32,
        labels: Labels,
    ) -> None:
        self.meta = meta
        self.labels = labels
        self.vocabulary = Vocabulary(meta.grams, hashes_N, idf_N, meta.unseen_idf)
        self.weights_NC = np.ascontiguousarray(weights_NC)
        self.intercepts_C = intercepts_C

    def guesses(self, texts: Sequence[str]) -> tuple[Ints, Floats]:
        """For each text the column of the likeliest value, and the probability that it is right.

        Of a text that was labelled the value is what its label says, for certain; none is, where that says none.
        """
        parts = [self.vocabulary.parts(counted(self.meta.grams, text), self.weights_NC) for text in texts]
        letters_BC, words_BC = (np.array(part) for part in zip(*parts, strict=True))
        best_B = best_values(letters_BC + words_BC + self.intercepts_C)
        sure_B = confidence(evidence(letters_BC, words_BC, self.intercepts_C), self.meta.calibration)
        for text, said in enumerate(map(self.labels.of, texts)):
            if said is not None:
                is_value = said < len(self.meta.values)
                best_B[text], sure_B[text] = (said, 1.0) if is_value else (best_B[text], 0.0)
        return best_B, sure_B

    def with_meta(self, meta: AlignerMeta) -> Self:
        """The same numbers with another threshold, calibration or lineage."""
        vocabulary = self.vocabulary
        return type(self)(meta, vocabulary.hashes_N, vocabulary.idf_N, self.weights_NC, self.intercepts_C, self.labels)

    @cached_property
    def digest(self) -> Digest:
        """Of meaning and numbers, not of the file's bytes; what it was learnt from, and when, has no part in it."""
        meaning = msgspec.structs.replace(self.meta, lineage=Lineage(), measured=Measured())
        vocabulary, labels = self.vocabulary, self.labels
        arrays: tuple[npt.NDArray[Any], ...] = (vocabulary.hashes_N, vocabulary.idf_N, self.weights_NC)
        arrays = (*arrays, self.intercepts_C, labels.texts_L, labels.columns_L)
        parts = [msgspec.json.encode(meaning, order="deterministic")]
        parts += [array.astype(array.dtype.newbyteorder("<")).tobytes() for array in arrays]
        return digest_of(b"\0".join(parts))

    def save(self, path: Path) -> None:
        """Write the file, whole or not at all; raises StoreError when the disk refuses."""
        tensors: dict[str, npt.NDArray[Any]] = {
            "hashes": self.vocabulary.hashes_N,
            "idf": self.vocabulary.idf_N,
            "weights": self.weights_NC,
            "intercepts": self.intercepts_C,
            "labelled": self.labels.texts_L,
            "labels": self.labels.columns_L,
        }
        write_tensors(path, tensors, msgspec.json.encode(self.meta, order="deterministic"))
