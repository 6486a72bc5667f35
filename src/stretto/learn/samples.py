"""Recorded runs folded into what an update learns from: decisions with their features, groups and rewards.

Nothing but the record is read: features are computed again from each step's recorded input, and the recorded
log-probabilities are the behaviour. Shape letters: R runs, B decisions, A alternatives.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

import msgspec
import numpy as np

from stretto.components.policy import SoftmaxPolicy
from stretto.learn.completeness import dropped_fields
from stretto.learn.matrix import Seen, seen
from stretto.learn.objective import Bools, Floats, Ints, log_softmax
from stretto.learn.rewards import reward_as_of
from stretto.record.model import Annotation, Run, StepRecord, decoded
from stretto.types.enums import Reason, RunStatus, StepStatus
from stretto.types.errors import PolicyMismatchError
from stretto.types.ids import RunId
from stretto.types.json import JsonObject
from stretto.types.learning import Action

ACCIDENTS: Final = frozenset({Reason.TIMEOUT, Reason.CONGESTION, Reason.BREAKER})
"""Downgrades that befell a run: its reward tells of the weather, not of its choices (REQUIREMENTS M2)."""

DOWNWEIGHT: Final = 0.25
"""What such a run counts under `downweight`, where another counts 1: four of them move the policy as far as one choice
does. No paper's figure; what it should be hangs on how much of the accident was chosen."""


class Downgraded(StrEnum):
    """What becomes of runs in which an accident downgraded a step."""

    EXCLUDE = "exclude"
    """They are left out."""
    DOWNWEIGHT = "downweight"
    """They count, a quarter each."""
    KEEP = "keep"
    """They count as if what befell them had been chosen."""


LOGPROB_TOLERANCE: Final = 1e-6
"""Nats. Weights are float64 at both ends, so an honest difference is rounding, near 1e-14."""


class Exclusion(StrEnum):
    """Why a run or a decision teaches nothing."""

    NOT_ENDED = "not_ended"
    NOT_SUCCEEDED = "not_succeeded"
    """It failed, was cancelled, expired, or is parked."""
    BUSINESS_FALLBACK = "business_fallback"
    """The workflow's fallback answered in its place: what that is rewarded for, no policy chose."""
    SIMULATED = "simulated"
    FIELD_DROPPED = "field_dropped"
    ACCIDENT = "accident"
    """A step was downgraded by a time-out, congestion or an open breaker."""
    QUARANTINED = "quarantined"
    """A value in it meant nothing, in a semantic domain of that mode: it waits for a label."""
    REWARD_UNKNOWN = "reward_unknown"
    NO_TASK = "no_task"
    """It has no label ``task``, so no group."""
    NO_DECISION = "no_decision"
    """No step of it was decided by the component."""
    FORCED = "forced"
    """Decision: only one alternative was available, or a rule overrode the policy."""
    NOT_SAMPLED = "not_sampled"
    """Decision: the likeliest alternative was taken; nothing was explored."""
    DOWNGRADED = "downgraded"
    """Decision: the step's answer is not the policy's own."""


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """A run, and what was learnt of it later."""

    run: Run
    annotations: tuple[Annotation, ...] = ()


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Whose rewards are compared with each other: always both, never one implied."""

    task: str
    component: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """What one component learns from."""

    seen: Seen
    """What the policy saw at each decision."""
    available_BA: Bools
    chosen_B: Ints
    behaviour_B: Floats
    """Recorded log-probabilities."""
    run_B: Ints
    """Each decision's run, an index into the R runs."""
    rewards_R: Floats
    weights_R: Floats
    """What each run counts: 1, or less for one that an accident downgraded."""
    group_R: Ints
    """Each run's group, an index into `groups`."""
    runs: tuple[RunId, ...]
    groups: tuple[Group, ...]
    excluded: Mapping[Exclusion, int]
    """How many runs or decisions were left out, by reason."""
    refused: tuple[str, ...]
    """What was dropped from which run, in words."""

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

    runs: list[RunId] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    groups: dict[Group, int] = field(default_factory=dict)
    group: list[int] = field(default_factory=list)
    run: list[int] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    inputs: list[JsonObject] = field(default_factory=list)
    excluded: Counter[Exclusion] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)


def collect(
    recorded: Iterable[Recorded],
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
    `downgraded` says.

    Raises PolicyMismatchError when the record and the weights disagree.
    """
    fold = _Fold()
    for item in recorded:
        _fold_run(fold, item, policy, accidents, downgraded, as_of_ns)
    samples = _samples(fold, policy)
    _check_policy(samples, fold, policy, on_policy=on_policy)
    return samples


def _fold_run(
    fold: _Fold,
    item: Recorded,
    policy: SoftmaxPolicy,
    accidents: frozenset[Reason],
    downgraded: Downgraded,
    as_of_ns: int | None,
) -> None:
    run = item.run
    reward = reward_as_of(run, item.annotations, as_of_ns)
    is_accident = any(step.reason in accidents for step in run.steps)
    is_left_out = is_accident and downgraded is Downgraded.EXCLUDE
    reason = _why_not(fold, run, policy.name, is_left_out=is_left_out)
    if reason is None and reward is None:
        reason = Exclusion.REWARD_UNKNOWN
    steps = [step for step in run.steps if step.component == policy.name]
    if reason is None and not steps:
        reason = Exclusion.NO_DECISION
    if reason is not None or reward is None:
        fold.excluded[reason or Exclusion.REWARD_UNKNOWN] += 1
        return
    before = len(fold.actions)
    for step in steps:
        _fold_step(fold, step)
    if len(fold.actions) > before:
        group = Group(task=run.labels["task"], component=policy.name)
        fold.runs.append(run.id)
        fold.rewards.append(reward)
        fold.weights.append(DOWNWEIGHT if is_accident and downgraded is Downgraded.DOWNWEIGHT else 1.0)
        fold.group.append(fold.groups.setdefault(group, len(fold.groups)))


def _why_not(fold: _Fold, run: Run, policy: str, *, is_left_out: bool) -> Exclusion | None:
    if run.status is None:
        return Exclusion.NOT_ENDED
    if run.simulated:
        return Exclusion.SIMULATED
    if run.status is RunStatus.BUSINESS_FALLBACK:
        return Exclusion.BUSINESS_FALLBACK
    if is_left_out:
        return Exclusion.ACCIDENT
    if any(step.is_quarantined for step in run.steps):
        return Exclusion.QUARANTINED
    if not run.succeeded:
        return Exclusion.NOT_SUCCEEDED
    dropped = dropped_fields(run, policy)
    if dropped:
        fold.refused.append(f"run {run.id} lacks {', '.join(dropped)}")
        return Exclusion.FIELD_DROPPED
    if not run.labels.get("task"):
        return Exclusion.NO_TASK
    return None


def _fold_step(fold: _Fold, step: StepRecord) -> None:
    if step.status is not StepStatus.OK:
        fold.excluded[Exclusion.DOWNGRADED] += 1
        return
    for action in step.actions:
        if action.forced:
            fold.excluded[Exclusion.FORCED] += 1
        elif action.propensity == 1.0:
            fold.excluded[Exclusion.NOT_SAMPLED] += 1
        else:
            fold.inputs.append(decoded(step.input))
            fold.actions.append(action)
            fold.run.append(len(fold.runs))


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
        rewards_R=np.array(fold.rewards, np.float64),
        weights_R=np.array(fold.weights, np.float64),
        group_R=np.array(fold.group, np.int64),
        runs=tuple(fold.runs),
        groups=tuple(fold.groups),
        excluded=dict(sorted(fold.excluded.items())),
        refused=tuple(fold.refused),
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
