"""A network that learns as rows come: a bounded buffer of them, and some steps towards it after each batch.

Shape letters: N rows, F features, K outputs.
"""

from typing import Final

import torch
from torch import Tensor

from stretto.learn.surrogates.network import Fitter, Network
from stretto.learn.surrogates.window import Window
from stretto.types.ids import Digest

ONLINE_STEPS: Final = 10
"""Of the optimiser after a batch: some milliseconds, and rows of the buffer are seen again after later batches."""

RECORDED_STEPS: Final = 400
"""Of recorded runs: what a network of this size needs to settle on some thousand rows."""

LEAST_ROWS: Final = 8
"""Fewer have no spread to speak of, and are waited with."""


class Learner:
    """A network, what it learns from, and how old it is."""

    def __init__(self, features: int, outputs: int) -> None:
        self.features = features
        self.outputs = outputs
        self.network = Network(features, outputs)
        self.fitter = Fitter(self.network)
        self.buffer = Window(features + 2 * outputs)
        """Of each row its features, what was told of it, and of which outputs it was told."""
        self.rows = 0
        """That it has learnt from."""
        self.behind = 0
        """That came since it last learnt."""
        self.updates = 0
        """How often it has learnt."""
        self.learnt_of = Digest("")
        self.scaled_at = 0
        """Rows that its scales were settled at: again when there are twice as many."""

    def answer(self, features_NF: Tensor) -> Tensor:
        """What the network says, [N, K], detached."""
        with torch.no_grad():
            answered_NK: Tensor = self.network(features_NF)
        return answered_NK

    def add(self, features_NF: Tensor, told_NK: Tensor, is_told_NK: Tensor) -> None:
        """Put rows into the buffer."""
        self.behind += self.buffer.add(torch.cat([features_NF, told_NK, is_told_NK], 1))

    def learn(self, *, passes: int = ONLINE_STEPS, of: Digest | None = None) -> None:
        """Take some steps towards the buffer; `of` is the digest of what made its last rows."""
        if len(self.buffer) < LEAST_ROWS or not self.behind:
            return
        features_NF, told_NK, is_told_NK = self.buffer.parts(self.features, self.outputs, self.outputs)
        self.rows, self.behind, self.updates = self.rows + self.behind, 0, self.updates + 1
        self.learnt_of = of or self.learnt_of
        if self.rows >= 2 * self.scaled_at and self.scaled_at < self.buffer.most:
            self.network.settle_scales(features_NF, told_NK, is_told_NK)
            self.scaled_at = self.rows
        self.fitter.fit(features_NF, told_NK, is_told_NK, passes)
