"""The network of a surrogate, and how it is fitted. Shape letters: N rows, F features, K outputs, H hidden units."""

from collections.abc import Mapping
from typing import Final

import torch
from torch import Tensor, nn

HIDDEN: Final = 32
"""Units. What follows a step is foretold from what the step knew: a small network learns that of some hundred runs."""

LEARNING_RATE: Final = 0.03
"""Of AdamW, on features and answers that are of mean 0 and spread 1; docs/log.md has what others came to."""

WEIGHT_DECAY: Final = 0.1
"""It costs nothing where answers can be foretold, and halves what is learnt by heart where they cannot."""

MINIBATCH: Final = 256

_MOMENTS: Final = ("exp_avg", "exp_avg_sq")
"""Of AdamW, as torch names them."""

_LEAST_SPREAD: Final = 1e-6
"""What varies less does not vary."""


class Network(nn.Module):
    """Foretells K numbers of F features, by one hidden layer in float64; the mean answer until it has learnt."""

    mean_F: Tensor
    scale_F: Tensor
    mean_K: Tensor
    scale_K: Tensor

    def __init__(self, features: int, outputs: int, seed: int = 0) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.inner = nn.Linear(features, HIDDEN, dtype=torch.float64)
            self.outer = nn.Linear(HIDDEN, outputs, dtype=torch.float64)
        nn.init.zeros_(self.outer.weight)
        nn.init.zeros_(self.outer.bias)
        for name, value in (("mean", 0.0), ("scale", 1.0)):
            self.register_buffer(f"{name}_F", torch.full((features,), value, dtype=torch.float64))
            self.register_buffer(f"{name}_K", torch.full((outputs,), value, dtype=torch.float64))

    def forward(self, features_NF: Tensor) -> Tensor:
        """[N, K]."""
        hidden_NH = torch.tanh(self.inner((features_NF - self.mean_F) / self.scale_F))
        foretold_NK: Tensor = self.outer(hidden_NH)
        return foretold_NK * self.scale_K + self.mean_K

    def settle_scales(self, features_NF: Tensor, told_NK: Tensor, is_told_NK: Tensor) -> None:
        """Bring features and answers to mean 0 and spread 1, as these rows have them."""
        self.mean_F, self.scale_F = features_NF.mean(0), _spread(features_NF - features_NF.mean(0))
        counts_K = is_told_NK.sum(0)
        mean_K = (told_NK * is_told_NK).sum(0) / counts_K.clamp_min(1)
        everywhere = (told_NK * is_told_NK).sum() / counts_K.sum().clamp_min(1)
        self.mean_K = torch.where(counts_K > 0, mean_K, everywhere)
        apart_NK = (told_NK - self.mean_K) * is_told_NK
        square_K = (apart_NK**2).sum(0) / counts_K.clamp_min(1)
        self.scale_K = torch.where(square_K.sqrt() > _LEAST_SPREAD, square_K.sqrt(), torch.ones_like(square_K))


def _spread(apart_NF: Tensor) -> Tensor:
    spread_F = (apart_NF**2).mean(0).sqrt()
    return torch.where(spread_F > _LEAST_SPREAD, spread_F, torch.ones_like(spread_F))


class Fitter:
    """Fits a network to rows. Each minibatch is drawn by its number, so that no random generator is kept."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.steps = 0
        """Of the optimiser, so far."""
        self._adam = torch.optim.AdamW(network.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)

    def fit(self, features_NF: Tensor, told_NK: Tensor, is_told_NK: Tensor, steps: int) -> None:
        """Take some steps towards what was told, where it was."""
        for _ in range(steps):
            rows = self._drawn(len(features_NF))
            with torch.enable_grad():
                apart_NK = (self.network(features_NF[rows]) - told_NK[rows]) / self.network.scale_K
                is_told = is_told_NK[rows]
                loss = ((apart_NK * is_told) ** 2).sum() / is_told.sum().clamp_min(1)
                self._adam.zero_grad()
                torch.autograd.backward(loss, inputs=[*self.network.parameters()])
            self._adam.step()
            self.steps += 1

    def _drawn(self, count: int) -> Tensor:
        if count <= MINIBATCH:
            return torch.arange(count)
        source = torch.Generator().manual_seed(self.steps)
        return torch.randint(count, (MINIBATCH,), generator=source)

    def state(self) -> dict[str, Tensor]:
        """The optimiser's moments, by the name of what they are of."""
        found: dict[str, Tensor] = {}
        for name, parameter in self.network.named_parameters():
            moments = self._adam.state.get(parameter, {})
            found |= {f"{name}.{key}": moments[key] for key in _MOMENTS if key in moments}
        return found

    def restore(self, moments: Mapping[str, Tensor], steps: int) -> None:
        """Go on from there."""
        self.steps = steps
        for name, parameter in self.network.named_parameters():
            if f"{name}.exp_avg" in moments:
                self._adam.state[parameter] = {
                    "step": torch.tensor(float(steps)),
                    **{key: moments[f"{name}.{key}"].clone() for key in _MOMENTS},
                }
