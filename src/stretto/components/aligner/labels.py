"""What people said that single texts mean: what was corrected is right from then on, whatever the weights say.

Texts are kept by a hash, so that an aligner's file can be handed on and does not tell what customers wrote.
"""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from stretto.types.meaning import folded

_HASH_BYTES: Final = 8
"""A million labelled texts collide among each other with a chance of 3e-8."""


class Labels:
    """The column of the value that each labelled text means; never changed once made.

    Shape letter: L labelled texts. A text is known again whatever its case, width and white space.
    """

    def __init__(self, texts_L: npt.NDArray[np.uint64], columns_L: npt.NDArray[np.int32]) -> None:
        """`texts_L` are hashes in rising order; a column is that of the weights, the last one *none of them*."""
        self.texts_L = texts_L
        self.columns_L = columns_L
        self._columns = dict(zip(texts_L.tolist(), columns_L.tolist(), strict=True))

    @classmethod
    def of_texts(cls, columns: Mapping[str, int]) -> Self:
        """Of texts with the column that each means; of two that are known as one the later counts."""
        return cls._sorted({_hash(text): column for text, column in columns.items()})

    def with_texts(self, columns: Mapping[str, int]) -> Self:
        """These, and others, which count where both say something."""
        return self._sorted(self._columns | {_hash(text): column for text, column in columns.items()})

    def of(self, text: str) -> int | None:
        """The column that the text was labelled with; None where nobody said anything of it."""
        return self._columns.get(_hash(text))

    @classmethod
    def _sorted(cls, columns: Mapping[int, int]) -> Self:
        hashes = sorted(columns)
        return cls(np.array(hashes, np.uint64), np.array([columns[each] for each in hashes], np.int32))


def _hash(text: str) -> int:
    digest = blake2b(folded(text).encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).digest()
    return int.from_bytes(digest, "little")
