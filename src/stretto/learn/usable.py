"""Which recorded runs may be learnt from: their groups, rewards and weights, and why the others may not."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

import msgspec
import numpy as np

from stretto.learn.advantage import Advantages, Scale, group_advantages
from stretto.learn.completeness import Made, dropped_fields
from stretto.learn.objective import Floats, Ints
from stretto.learn.rewards import check_run, reward_as_of
from stretto.record.model import Annotation, Run
from stretto.types.arguments import as_several, wrong
from stretto.types.enums import Reason, RunStatus
from stretto.types.ids import RunId

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
    TOKENS_UNTOLD = "tokens_untold"
    """Call: the model server told no token ids of its answer, or no log-probabilities."""


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """A run, and what was learnt of it later."""

    run: Run
    annotations: tuple[Annotation, ...] = ()

    def __post_init__(self) -> None:
        check_run(self.run)
        several, one = "a list of annotations, as a store's `annotations(id)`", "an annotation"
        msgspec.structs.force_setattr(
            self, "annotations", as_several("annotations", self.annotations, Annotation, several, one)
        )


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Whose rewards are compared with each other: always both, never one implied."""

    task: str
    component: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """By which runs are taken in."""

    accidents: frozenset[Reason] = ACCIDENTS
    """What counts as one."""
    downgraded: Downgraded = Downgraded.EXCLUDE
    as_of_ns: int | None = None
    """Rewards are those known then (UTC, nanoseconds); None is now."""

    def __post_init__(self) -> None:
        """Take a text for the member that it names; UsageError for one that names none."""
        try:
            object.__setattr__(self, "downgraded", Downgraded(self.downgraded))
        except ValueError:
            raise wrong("downgraded", self.downgraded, f"one of {', '.join(Downgraded)}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedRuns:
    """The R runs that samples of any kind were made of."""

    rewards_R: Floats
    weights_R: Floats
    """What each run counts: 1, or less for one that an accident downgraded."""
    group_R: Ints
    """Each run's group, an index into `groups`."""
    runs: tuple[RunId, ...]
    groups: tuple[Group, ...]
    excluded: Mapping[Exclusion, int]
    """How many runs, and decisions or calls of theirs, were left out, by reason."""
    refused: tuple[str, ...]
    """What was dropped from which run, in words."""

    def advantages(self, scale: Scale = Scale.STD) -> Advantages:
        """Each run's advantage over its group; what was done in it has its run's."""
        return group_advantages(self.rewards_R, self.group_R, scale, weights_R=self.weights_R)


@dataclass(slots=True)
class UsableRuns:
    """The runs of one component that teach something, while they are gathered."""

    component: str
    made: Made
    rules: Rules
    ids: list[RunId] = field(default_factory=list)
    groups: dict[Group, int] = field(default_factory=dict)
    excluded: Counter[Exclusion] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)
    """What was dropped from which run, in words."""
    _rewards: list[float] = field(default_factory=list)
    _weights: list[float] = field(default_factory=list)
    _group: list[int] = field(default_factory=list)

    def reward_of(self, item: Recorded) -> float | None:
        """The reward of a run that may be learnt from; None for another, which is counted."""
        reward = reward_as_of(item.run, item.annotations, self.rules.as_of_ns)
        reason = self._why_not(item.run)
        if reason is None and reward is None:
            reason = Exclusion.REWARD_UNKNOWN
        if reason is None and not any(step.component == self.component for step in item.run.steps):
            reason = Exclusion.NO_DECISION
        if reason is None:
            return reward
        self.excluded[reason] += 1
        return None

    def add(self, run: Run, reward: float) -> None:
        """Take a run in; its index is the count of those before it."""
        group = Group(task=run.labels["task"], component=self.component)
        is_light = self.rules.downgraded is Downgraded.DOWNWEIGHT and self._is_accident(run)
        self.ids.append(run.id)
        self._rewards.append(reward)
        self._weights.append(DOWNWEIGHT if is_light else 1.0)
        self._group.append(self.groups.setdefault(group, len(self.groups)))

    @property
    def used(self) -> dict[str, Any]:  # each of its own type
        """The fields of `UsedRuns`."""
        return {
            "rewards_R": np.array(self._rewards, np.float64),
            "weights_R": np.array(self._weights, np.float64),
            "group_R": np.array(self._group, np.int64),
            "runs": tuple(self.ids),
            "groups": tuple(self.groups),
            "excluded": dict(sorted((+self.excluded).items())),
            "refused": tuple(self.refused),
        }

    def _is_accident(self, run: Run) -> bool:
        return any(step.reason in self.rules.accidents for step in run.steps)

    def _why_not(self, run: Run) -> Exclusion | None:
        if run.status is None:
            return Exclusion.NOT_ENDED
        if run.simulated:
            return Exclusion.SIMULATED
        if run.status is RunStatus.BUSINESS_FALLBACK:
            return Exclusion.BUSINESS_FALLBACK
        if self.rules.downgraded is Downgraded.EXCLUDE and self._is_accident(run):
            return Exclusion.ACCIDENT
        if any(step.is_quarantined for step in run.steps):
            return Exclusion.QUARANTINED
        if not run.succeeded:
            return Exclusion.NOT_SUCCEEDED
        dropped = dropped_fields(run, self.component, self.made)
        if dropped:
            self.refused.append(f"run {run.id} lacks {', '.join(dropped)}")
            return Exclusion.FIELD_DROPPED
        if not run.labels.get("task"):
            return Exclusion.NO_TASK
        return None
