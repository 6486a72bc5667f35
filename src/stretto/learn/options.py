"""How a policy is trained: every option has an effect, or it is an error."""

import math
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from stretto.learn.advantage import Scale
from stretto.learn.objective import Objective
from stretto.learn.usable import Downgraded
from stretto.types.errors import UsageError

DEFAULT_CLIP = 0.2
"""PPO's own (Schulman et al. 2017, table 3)."""

_CLIP: Final = {"default": DEFAULT_CLIP}
"""What an unset clip comes to, for those who tell of the options."""

_SEED_END: Final = 2**63
"""A seed is a JSON integer, and numpy's generators take none below 0."""


MOST_UPDATES: Final = 100_000

_MOST: Final = {
    "updates": MOST_UPDATES, "tasks_per_update": 100_000, "group_size": 10_000, "epochs": 10_000, "minibatches": 10_000
}  # fmt: skip
"""Far beyond what a training has use for; a slip of the finger passes it. Each of them multiplies the time taken."""


def check_seed(seed: int) -> None:
    """Raise UsageError for what is no seed."""
    if not 0 <= seed < _SEED_END:
        raise UsageError(f"seed is {seed}; expected an integer from 0 to 2^63 - 1")


class TrainOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of a training. The defaults make 480 runs, and are those that worked best on the retail example while the
    policy read no facts about its alternatives."""

    updates: Annotated[int, Meta(description="how often the weights are changed")] = 10
    tasks_per_update: Annotated[int, Meta(description="tasks in an update")] = 12
    group_size: Annotated[int, Meta(description="runs of each task in an update, compared with each other")] = 4
    epochs: Annotated[int, Meta(description="passes over an update's decisions")] = 4
    minibatches: Annotated[int, Meta(description="steps of the optimiser in a pass")] = 1
    learning_rate: Annotated[float, Meta(description="step size of Adam, the optimiser")] = 0.05
    advantage: Annotated[Scale, Meta(description="what a run's advantage over its group is divided by")] = Scale.BATCH
    clip_low: Annotated[
        float | msgspec.UnsetType | None,
        Meta(description="how far a probability may fall in an update; null for no bound", extra=_CLIP),
    ] = msgspec.UNSET
    """Bound on the probability ratio, 1 - clip_low. Unset is `DEFAULT_CLIP` where it has an effect."""
    clip_high: Annotated[
        float | msgspec.UnsetType | None,
        Meta(description="how far a probability may rise in an update; null for no bound", extra=_CLIP),
    ] = msgspec.UNSET
    """Bound on the probability ratio, 1 + clip_high."""
    entropy: Annotated[float, Meta(description="weight of the bonus that keeps the policy from settling too early")] = (
        0.003
    )
    kl: Annotated[float, Meta(description="weight of the pull towards the policy that training started from")] = 0.001
    downgraded: Annotated[
        Downgraded, Meta(description="what becomes of runs that a time-out, congestion or an open breaker downgraded")
    ] = Downgraded.EXCLUDE
    seed: Annotated[int, Meta(description="of the tasks' order, the runs' seeds and the minibatches")] = 0

    def __post_init__(self) -> None:
        self._check_counts()
        if not (math.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise UsageError(f"learning_rate is {self.learning_rate}; expected a number above 0, such as 0.05")
        for name in ("entropy", "kl"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) >= 0):
                raise UsageError(f"{name} is {getattr(self, name)}; expected 0 (off) or a weight above it")
        check_seed(self.seed)
        self._check_clips()

    def _check_counts(self) -> None:
        for name, most in _MOST.items():
            count = getattr(self, name)
            if name == "group_size" and count < 2:
                raise UsageError(f"{name} is {count}: a run is compared with others of its task, so expected 2 or more")
            if not 1 <= count <= most:
                raise UsageError(f"{name} is {count}; expected {'1 or more' if count < 1 else f'{most:,} or less'}")

    def _check_clips(self) -> None:
        for name in ("clip_low", "clip_high"):
            clip = getattr(self, name)
            if clip is msgspec.UNSET or clip is None:
                continue
            below = 1.0 if name == "clip_low" else math.inf
            if not 0.0 < clip < below:
                bounds = "above 0 and below 1" if below == 1.0 else "above 0"
                raise UsageError(f"{name} is {clip}; expected a number {bounds}, such as 0.2, or null for no bound")
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
