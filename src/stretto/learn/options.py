"""How a policy is trained: every option has an effect, or it is an error."""

import math

import msgspec

from stretto.learn.advantage import Scale
from stretto.learn.objective import Objective
from stretto.types.errors import UsageError

DEFAULT_CLIP = 0.2
"""PPO's own (Schulman et al. 2017, table 3)."""


class TrainOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of a training. The defaults make 480 runs, and are those that worked best on the retail example."""

    updates: int = 10
    tasks_per_update: int = 12
    group_size: int = 4
    """Runs of each task in an update; their rewards are compared with each other."""
    epochs: int = 4
    """Passes over an update's decisions."""
    minibatches: int = 1
    """Steps of the optimiser in a pass."""
    learning_rate: float = 0.05
    advantage: Scale = Scale.BATCH
    clip_low: float | msgspec.UnsetType | None = msgspec.UNSET
    """Bound on the probability ratio from below, 1 - clip_low; null for none. Unset is 0.2 where it has an effect."""
    clip_high: float | msgspec.UnsetType | None = msgspec.UNSET
    """Bound from above, 1 + clip_high."""
    entropy: float = 0.003
    """Weight of the entropy bonus, which keeps the policy from settling too early."""
    kl: float = 0.001
    """Weight of the pull towards the policy that training started from."""
    seed: int = 0
    """Of the tasks' order, the runs' seeds and the minibatches."""

    def __post_init__(self) -> None:
        for name in ("updates", "tasks_per_update", "epochs", "minibatches"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}; expected 1 or more")
        if self.group_size < 2:
            raise UsageError(
                f"group_size is {self.group_size}: a run is compared with others of its task, so expected 2 or more"
            )
        if not (math.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise UsageError(f"learning_rate is {self.learning_rate}; expected a number above 0, such as 0.05")
        for name in ("entropy", "kl"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) >= 0):
                raise UsageError(f"{name} is {getattr(self, name)}; expected 0 (off) or a weight above it")
        self._check_clips()

    def _check_clips(self) -> None:
        for name in ("clip_low", "clip_high"):
            clip = getattr(self, name)
            if clip is msgspec.UNSET or clip is None:
                continue
            if not 0.0 < clip < (1.0 if name == "clip_low" else math.inf):
                raise UsageError(f"{name} is {clip}; expected a number above 0, such as 0.2, or null for no bound")
            if not self._ratio_moves:
                raise UsageError(
                    f"{name} has no effect with 1 epoch of 1 minibatch: the gradient is taken where the ratio is 1. "
                    f"Raise epochs or minibatches, or leave {name} out"
                )

    @property
    def _ratio_moves(self) -> bool:
        return self.epochs * self.minibatches > 1

    @property
    def objective(self) -> Objective:
        """What an update minimises."""
        default = DEFAULT_CLIP if self._ratio_moves else None
        return Objective(
            clip_low=default if self.clip_low is msgspec.UNSET else self.clip_low,
            clip_high=default if self.clip_high is msgspec.UNSET else self.clip_high,
            entropy=self.entropy,
            kl=self.kl,
        )
