"""Recorded runs folded into what an update learns from: decisions with their features, groups and rewards.

Nothing but the record is read: features are computed again from each step's recorded input, and the recorded
log-probabilities are the behaviour. Shape letters: R runs, B decisions, A alternatives.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from stretto.components.policy import SoftmaxPolicy
from stretto.learn.arguments import check_policy, each_recorded
from stretto.learn.completeness import Made
from stretto.learn.matrix import Seen, seen
from stretto.learn.objective import Bools, Floats, Ints, log_softmax
from stretto.learn.usable import ACCIDENTS, Downgraded, Exclusion, Recorded, Rules, UsableRuns, UsedRuns
from stretto.record.model import Run, StepRecord, decoded
from stretto.types.enums import Reason, StepStatus
from stretto.types.errors import PolicyMismatchError
from stretto.types.ids import RunId
from stretto.types.json import JsonObject
from stretto.types.learning import Action

LOGPROB_TOLERANCE: Final = 1e-6
"""Nats. Weights are float64 at both ends, so an honest difference is rounding, near 1e-14."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples(UsedRuns):
    """What one component learns from."""

    seen: Seen
    """What the policy saw at each decision."""
    available_BA: Bools
    chosen_B: Ints
    behaviour_B: Floats
    """Recorded log-probabilities."""
    run_B: Ints
    """Each decision's run, an index into the R runs."""

    @property
    def decisions(self) -> int:
        """B."""
        return len(self.chosen_B)

    def run_of(self, decision: int) -> RunId:
        """The run in which a decision was made."""
        return self.runs[int(self.run_B[decision])]


@dataclass(slots=True)
class _Fold:
    """Samples while they are gathered."""

    usable: UsableRuns
    run: list[int] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    inputs: list[JsonObject] = field(default_factory=list)


def collect(
    recorded: Iterable[Run | Recorded],
    policy: SoftmaxPolicy,
    *,
    on_policy: bool = True,
    accidents: frozenset[Reason] = ACCIDENTS,
    downgraded: Downgraded = Downgraded.EXCLUDE,
    as_of_ns: int | None = None,
) -> Samples:
    """Fold runs into the samples of one policy component.

    `policy` is the component with the weights that acted. Every decision that carries their digest must have the
    log-probability that they give; with `on_policy`, every decision must carry it. Runs and decisions that teach
    nothing are left out before any group statistic, and counted. What `accidents` downgraded is treated as
    `downgraded` says. A run that comes without `Recorded` has the reward that it was sealed with.

    Raises PolicyMismatchError when the record and the weights disagree.
    """
    check_policy(policy)
    rules = Rules(accidents=accidents, downgraded=downgraded, as_of_ns=as_of_ns)
    fold = _Fold(UsableRuns(policy.name, Made.ACTIONS, rules))
    for item in each_recorded(recorded):
        _fold_run(fold, item)
    samples = _samples(fold, policy)
    _check_policy(samples, fold, policy, on_policy=on_policy)
    return samples


def _fold_run(fold: _Fold, item: Recorded) -> None:
    usable = fold.usable
    reward = usable.reward_of(item)
    if reward is None:
        return
    before = len(fold.actions)
    for step in item.run.steps:
        if step.component == usable.component:
            _fold_step(fold, step)
    if len(fold.actions) > before:
        usable.add(item.run, reward)


def _fold_step(fold: _Fold, step: StepRecord) -> None:
    if step.status is not StepStatus.OK:
        fold.usable.excluded[Exclusion.DOWNGRADED] += 1
        return
    for action in step.actions:
        if action.forced:
            fold.usable.excluded[Exclusion.FORCED] += 1
        elif action.propensity == 1.0:
            fold.usable.excluded[Exclusion.NOT_SAMPLED] += 1
        else:
            fold.inputs.append(decoded(step.input))
            fold.actions.append(action)
            fold.run.append(len(fold.usable.ids))


def _samples(fold: _Fold, policy: SoftmaxPolicy) -> Samples:
    alternatives = policy.options.alternatives
    for action in fold.actions:
        if action.support != alternatives:
            raise PolicyMismatchError(
                f"policy '{policy.name}' chooses from {list(alternatives)}, but a recorded choice was among "
                f"{list(action.support)}. Learn from runs of this policy only"
            )
    column = {name: i for i, name in enumerate(alternatives)}
    everything = (True,) * len(alternatives)
    return Samples(
        seen=seen(policy, fold.inputs),
        available_BA=np.array([a.available or everything for a in fold.actions], np.bool_).reshape(-1, len(column)),
        chosen_B=np.array([column[a.chosen] for a in fold.actions], np.int64),
        behaviour_B=np.array([a.logprob for a in fold.actions], np.float64),
        run_B=np.array(fold.run, np.int64),
        **fold.usable.used,
    )


def _check_policy(samples: Samples, fold: _Fold, policy: SoftmaxPolicy, *, on_policy: bool) -> None:
    """Hold every decision to the weights that it says chose it."""
    digest = policy.weights_digest
    named_B = np.array([action.policy == digest for action in fold.actions], np.bool_)
    if on_policy and not named_B.all():
        first = int(np.argmin(named_B))
        raise PolicyMismatchError(
            f"run {samples.run_of(first)} was decided by the weights {fold.actions[first].policy[:8]}, not "
            f"by {digest[:8]} of policy '{policy.name}'. Give the weights that acted, or learn off-policy"
        )
    given_B = logprobs_of(samples, policy)[np.arange(samples.decisions), samples.chosen_B]
    apart_B = np.where(named_B, np.abs(given_B - samples.behaviour_B), 0.0)
    if samples.decisions and apart_B.max() > LOGPROB_TOLERANCE:
        worst = int(apart_B.argmax())
        raise PolicyMismatchError(
            f"run {samples.run_of(worst)} records the log-probability {samples.behaviour_B[worst]:.6f}, but "
            f"the weights {digest[:8]} of policy '{policy.name}' give {given_B[worst]:.6f} for the recorded input. "
            "Its temperature or features differ from those that acted, or the record was changed"
        )


def logprobs_of(samples: Samples, policy: SoftmaxPolicy) -> Floats:
    """Log-probabilities, B by A, that a policy's weights give the samples' alternatives."""
    logits_BA = samples.seen.scores(policy.weights.dense_FK) + np.array(policy.spec.prior)
    return log_softmax(logits_BA / policy.options.temperature, samples.available_BA)
