"""A surrogate of a step outside: foretells its answer, and stands for it in the gradient. Biased, so asked for by name.

Forwards the step's own answer counts, to the last digit; backwards the network's slope at what it was asked. Shape
letters: N rows, F features, K numbers of an answer.
"""

import torch
from torch import Tensor

from stretto.learn.surrogates.learner import ONLINE_STEPS
from stretto.learn.surrogates.surrogate import Surrogate
from stretto.types.ids import Digest


class StepSurrogate(Surrogate):
    """Of all numbers that a step answers."""

    what = "the answer of a step outside, whose place it takes in the gradient"
    is_biased = True

    def slope(self, features_NF: Tensor) -> Tensor | None:
        """Zeros [N, K] with the gradient of what it foretells; None until it has learnt."""
        network = self.learner.network
        if not self.learner.updates:
            return None
        weights = {name: value.detach().clone() for name, value in network.state_dict().items()}  # it learns meanwhile
        foretold_NK: Tensor = torch.func.functional_call(network, weights, (features_NF,))
        return foretold_NK - foretold_NK.detach()

    def learn(self, features_NF: Tensor, told_NK: Tensor, *, passes: int = ONLINE_STEPS, of: Digest) -> None:
        """Be judged by answers, then learn from them. `of` is the digest of what answered."""
        if not len(features_NF):
            return
        network = self.learner.network
        if self.learner.updates:  # in spreads of each number, so that they are of one size
            foretold_NK = (self.learner.answer(features_NF) - network.mean_K) / network.scale_K
            self.calibration.note(foretold_NK.flatten(), ((told_NK - network.mean_K) / network.scale_K).flatten())
        if not self.is_frozen:
            self.learner.add(features_NF, told_NK, torch.ones_like(told_NK))
            self.learner.learn(passes=passes, of=of)
