"""Prompts as one batch of embeddings: words and soft prompts in their places, padded on the left.

Shape letters: B rows, T places of the longest row, S soft places, D the width of an embedding.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

Piece: TypeAlias = str | tuple[int, ...]
"""Of a row: the name of a soft prompt, or tokens."""

Embed: TypeAlias = Callable[[Tensor], Tensor]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts:
    """What a model continues."""

    vectors_BTD: Tensor
    mask_BT: Tensor
    """1 where something stands, 0 for padding."""

    @property
    def positions_BT(self) -> Tensor:
        """From 0 at each row's first word, whatever the padding before it."""
        return (self.mask_BT.cumsum(-1) - 1).clamp_min(0)


def length_of(row: Sequence[Piece], sizes: Mapping[str, int]) -> int:
    """How many places a row takes; `sizes` are those of soft prompts."""
    return sum(sizes[piece] if isinstance(piece, str) else len(piece) for piece in row)


def laid_out(
    rows: Sequence[Sequence[Piece]], softs: Mapping[str, Tensor], embed: Embed, *, device: torch.device
) -> Prompts:
    """Embed the tokens of all rows at once, and put them and the soft prompts, each [B, S, D], where they stand.

    `embed` is called once at most, with [B, tokens of the longest row] in the order in which they stand.
    """
    tokens = [[token for piece in row if not isinstance(piece, str) for token in piece] for row in rows]
    most = max(map(len, tokens))
    ids = torch.tensor([row + [0] * (most - len(row)) for row in tokens], dtype=torch.int64, device=device)
    sources = [*softs.values(), *([embed(ids)] if most else [])]
    starts, at = {}, 0
    for name, soft in softs.items():
        starts[name], at = at, at + soft.shape[1]
    sizes = {name: soft.shape[1] for name, soft in softs.items()}
    orders = [_order(row, starts, sizes, at) for row in rows]
    longest = max(map(len, orders))
    order_BT = torch.tensor([[0] * (longest - len(each)) + each for each in orders], device=device)
    mask_BT = torch.tensor([[0] * (longest - len(each)) + [1] * len(each) for each in orders], device=device)
    which_row = torch.arange(len(rows), device=device)[:, None]
    return Prompts(vectors_BTD=torch.cat(sources, dim=1)[which_row, order_BT], mask_BT=mask_BT)


def _order(row: Sequence[Piece], starts: Mapping[str, int], sizes: Mapping[str, int], words: int) -> list[int]:
    """Where each place's vector is among the sources: soft prompts first, then the row's words."""
    order: list[int] = []
    for piece in row:
        start, size = (starts[piece], sizes[piece]) if isinstance(piece, str) else (words, len(piece))
        order += range(start, start + size)
        words += 0 if isinstance(piece, str) else size
    return order
