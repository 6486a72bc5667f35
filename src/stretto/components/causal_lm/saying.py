"""What a model says after prompts, token by token, with a gradient through what is discrete.

Shape letters: B rows, N tokens said, V words of the vocabulary, D the width of an embedding.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor

from stretto.components.causal_lm.continuing import Read, further

SILENCE: Final = -1
"""In place of tokens after the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Of each row."""

    ids_BN: Tensor
    """Tokens, `SILENCE` from the end on."""
    vectors_BND: Tensor
    """As the model embeds them, from the end on the end token; with a gradient."""


def say(found: Read, most: int, ends: Collection[int], layer: Any) -> Said:
    """Let the model say the likeliest token each time, that many or to its end.

    Straight through: forward a token is embedded as it is, backward as the mean embedding under the probabilities that
    it had (Bengio, Leonard and Courville 2013, arXiv:1308.3432, section 5), and so it is read on by the model itself.
    """
    logits_BV, closing = found.logits_BV, min(ends, default=0)
    is_over_B = torch.zeros(len(logits_BV), dtype=torch.bool, device=logits_BV.device)
    ids, vectors = [], []
    for place in range(most):
        token_B = logits_BV.argmax(-1)
        token_B = torch.where(is_over_B, closing, token_B)
        is_over_B = is_over_B | torch.isin(token_B, torch.tensor([*ends], device=token_B.device, dtype=token_B.dtype))
        vector_BD = _straight_through(token_B, logits_BV, layer)
        vector_BD = torch.where(is_over_B[:, None], vector_BD.detach(), vector_BD)
        ids.append(torch.where(is_over_B, SILENCE, token_B))
        vectors.append(vector_BD)
        if place + 1 < most:
            logits_BV = further(found, vector_BD[:, None], place)
    return Said(ids_BN=torch.stack(ids, 1), vectors_BND=torch.stack(vectors, 1))


def _straight_through(token_B: Tensor, logits_BV: Tensor, layer: Any) -> Tensor:
    hard_BD: Tensor = layer.forward(token_B[:, None])[:, 0]
    p_BV = logits_BV.float().softmax(-1).to(hard_BD.dtype)
    soft_BD = (p_BV @ layer.weight) * getattr(layer, "embed_scale", 1.0)
    vector_BD: Tensor = hard_BD + (soft_BD - soft_BD.detach())  # in this order: the token to the bit
    return vector_BD
