"""One update: an update's samples, some passes of gradient steps over them, new weights, and what happened.

Shape letters: B decisions, F features, C features that occur in these samples, A alternatives, K columns of weights,
R runs.
"""

import logging
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec
import numpy as np

from stretto.components.policy import SoftmaxPolicy
from stretto.components.policy_weights import PolicyWeights
from stretto.learn.advantage import Advantages
from stretto.learn.matrix import Seen
from stretto.learn.objective import Choices, Floats, Ints, Value
from stretto.learn.optimizer import Adam
from stretto.learn.options import TrainOptions
from stretto.learn.samples import Samples, logprobs_of
from stretto.learn.usable import Exclusion
from stretto.types.errors import LearningError
from stretto.types.ids import Digest

_log: Final = logging.getLogger(__name__)


class UpdateReport(msgspec.Struct, frozen=True, kw_only=True):
    """What one update learnt from and what it did. Holds no times: a resumed training reports the same numbers."""

    update: int
    """1 for the first."""
    runs: int
    decisions: int
    groups: int
    singleton_groups: int
    """Groups of one usable run: no comparison, no gradient."""
    flat_groups: int
    """Groups whose runs all had the same reward."""
    excluded: Mapping[Exclusion, int]
    """Runs and decisions left out, by reason."""
    refused: tuple[str, ...]
    """What was dropped from which run, in words."""
    reward_mean: float
    """Of the runs that the acting weights made, before this update."""
    surrogate: float
    """Clipped surrogate objective over all decisions, after the update, as all until `clip_fraction`."""
    entropy: float
    """Mean over the decisions, nats."""
    kl_start: float
    """Mean divergence from the weights that the training began with, nats."""
    kl_behaviour: float
    """Mean divergence from the weights that made the runs, nats."""
    clip_fraction: float
    """Share of decisions whose ratio was clipped: mean over the update's steps."""
    grad_norm: float
    """Euclidean norm of the gradient: mean over the update's steps."""
    acted: Digest
    """Weights that made the runs."""
    weights: Digest
    """Weights after the update."""
    changed_code: tuple[str, ...] = ()
    """What of the components' code is other from this update on, in words."""

    @property
    def is_skipped(self) -> bool:
        """Whether accidents left nothing to learn from: its figures are 0 then, and the weights are as they were."""
        return self.decisions == 0


MOST_SKIPPED: Final = 3
"""Updates in a row that may be passed over: what lasts longer is no accident, and every one costs its runs."""

_WEATHER: Final = (Exclusion.ACCIDENT, Exclusion.BUSINESS_FALLBACK)
"""Left out for what befell a run: that may be over with the next ones. All else is wrong with the next ones too."""


class Learner:
    """Weights in training: start, present, and the optimiser's moments."""

    def __init__(self, start: SoftmaxPolicy, options: TrainOptions) -> None:
        self.start = start
        self.options = options
        self.dense_FK: Floats = start.weights.dense_FK.copy()
        self.adam = Adam(len(self.dense_FK), start.spec.columns, options.learning_rate)

    @property
    def weights(self) -> PolicyWeights:
        """The present weights; a copy."""
        return PolicyWeights.from_dense(self.start.spec, self.dense_FK)

    def learn(self, samples: Samples, update: int, *, skipped: int = 0) -> UpdateReport:
        """Move the weights by one update's samples; `skipped` updates before it had none for want of good weather.

        Without a decision the update is skipped, where accidents took them and not for too long; else LearningError.
        """
        acted = self.weights.digest
        if samples.decisions == 0:
            nothing = _nothing(samples, update, skipped)
            if skipped == MOST_SKIPPED or not _is_weather(samples):
                raise LearningError(nothing)
            _log.warning("skipped: %s", nothing)
            return _skipped(update, samples, acted)
        advantages = samples.advantages(self.options.advantage)
        choices = _choices(samples, advantages.values_R[samples.run_B], logprobs_of(samples, self.start))
        columns_C, seen = samples.seen.compact()
        steps = [
            self._step(seen.part(batch), columns_C, _part(choices, batch))
            for batch in _batches(samples.decisions, self.options, update)
        ]
        after = self.options.objective(self._logits(seen, columns_C), choices)
        return _report(update, samples, advantages, after, steps, (acted, self.weights.digest))

    def _logits(self, seen: Seen, columns_C: Ints) -> Floats:
        logits_BA: Floats = seen.scores(self.dense_FK[columns_C]) + np.array(self.start.spec.prior)
        return logits_BA / self.start.options.temperature

    def _step(self, seen: Seen, columns_C: Ints, choices: Choices) -> tuple[float, float]:
        """One step of the optimiser; returns the clip fraction and the gradient's norm at the point left."""
        value = self.options.objective(self._logits(seen, columns_C), choices)
        touched = seen.columns
        grad_CK = seen.gradient(value.grad_BA / self.start.options.temperature)
        self.adam.step(self.dense_FK, columns_C[touched], grad_CK[touched])
        return value.clip_fraction, float(np.linalg.norm(grad_CK))


def _choices(samples: Samples, advantages_B: Floats, start_BA: Floats) -> Choices:
    return Choices(
        available_BA=samples.available_BA,
        chosen_B=samples.chosen_B,
        behaviour_B=samples.behaviour_B,
        advantages_B=advantages_B,
        start_BA=start_BA,
    )


def _part(choices: Choices, batch: Ints) -> Choices:
    return Choices(
        available_BA=choices.available_BA[batch],
        chosen_B=choices.chosen_B[batch],
        behaviour_B=choices.behaviour_B[batch],
        advantages_B=choices.advantages_B[batch],
        start_BA=choices.start_BA[batch],
    )


def _batches(decisions: int, options: TrainOptions, update: int) -> Iterator[Ints]:
    """Indices of each minibatch of each epoch; a draw depends on seed, update and epoch only."""
    for epoch in range(options.epochs):
        order = np.arange(decisions)
        if options.minibatches > 1:
            order = np.random.default_rng([options.seed, update, epoch]).permutation(decisions)
        yield from (batch for batch in np.array_split(order, options.minibatches) if len(batch))


def _report(
    update: int,
    samples: Samples,
    advantages: Advantages,
    after: Value,
    steps: list[tuple[float, float]],
    digests: tuple[Digest, Digest],
) -> UpdateReport:
    clip_fraction, grad_norm = np.mean(steps, axis=0).tolist()
    return UpdateReport(
        update=update,
        runs=len(samples.runs),
        decisions=samples.decisions,
        groups=advantages.groups,
        singleton_groups=advantages.singletons,
        flat_groups=advantages.flat,
        excluded=samples.excluded,
        refused=samples.refused,
        reward_mean=float(samples.rewards_R.mean()),
        surrogate=after.surrogate,
        entropy=after.entropy,
        kl_start=after.kl_start,
        kl_behaviour=after.kl_behaviour,
        clip_fraction=clip_fraction,
        grad_norm=grad_norm,
        acted=digests[0],
        weights=digests[1],
    )


def _skipped(update: int, samples: Samples, weights: Digest) -> UpdateReport:
    return UpdateReport(
        update=update,
        runs=0,
        decisions=0,
        groups=0,
        singleton_groups=0,
        flat_groups=0,
        excluded=samples.excluded,
        refused=samples.refused,
        reward_mean=0.0,
        surrogate=0.0,
        entropy=0.0,
        kl_start=0.0,
        kl_behaviour=0.0,
        clip_fraction=0.0,
        grad_norm=0.0,
        acted=weights,
        weights=weights,
    )


def _is_weather(samples: Samples) -> bool:
    return any(samples.excluded.get(reason) for reason in _WEATHER)


def _nothing(samples: Samples, update: int, skipped: int) -> str:
    reasons = ", ".join(f"{reason}: {count}" for reason, count in samples.excluded.items()) or "no runs came back"
    before = f", and the {skipped} before it had none either" if skipped else ""
    what_helps = (
        "A component was slow or down: go on with the training when it is well, or let runs that timed out count with "
        "downgraded=downweight"
        if _is_weather(samples)
        else "Look at one of its runs with `stretto runs show`; a run needs the label task, a known reward, and a "
        "sampled choice"
    )
    refused = "".join(f"\n  {line}" for line in samples.refused)
    return f"update {update} has no decision to learn from ({reasons}){before}. {what_helps}{refused}"
