"""What is told of each update of a joint training. It holds no times: a resumed training reports the same numbers."""

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec

from stretto.record.model import Run


class Reach(StrEnum):
    """What became of a component's gradient."""

    STEPPED = "stepped"
    CLIPPED = "clipped"
    """Stepped, after it was shortened to `clip_norm`."""
    UNREACHED = "unreached"
    """No reward of this batch depends on the component."""
    SKIPPED = "skipped"
    """It, or that of another, was no number: all were dropped."""
    FROZEN = "frozen"


class ComponentGradient(msgspec.Struct, frozen=True, kw_only=True):
    """Of one component in one update."""

    norm: float
    """Euclidean norm before it was clipped; 0 where nothing reached it or it is frozen."""
    reach: Reach


class HeldOutReport(msgspec.Struct, frozen=True, kw_only=True):
    """An evaluation after an update, with every module in eval mode."""

    reward_mean: float
    """Of the runs whose reward is known."""
    runs: int
    unknown: int
    """Runs whose reward is not known; they are not counted as 0."""
    left_out: Mapping[str, int]
    """Why they are not: ``failed``, or ``unknown`` and the term of the reward."""
    is_best: bool
    """Better than every one before it by the same code, by the training's own folder."""


class JointReport(msgspec.Struct, frozen=True, kw_only=True):
    """One update."""

    update: int
    """1 for the first; 0 tells of the evaluation before it."""
    runs: int
    """Made for updates so far."""
    reward_mean: float | None
    """Of this update's runs before its step in which nothing was perturbed, as far as it is known; None where it is for
    none."""
    unknown: int
    """Runs of this update that have no part in the gradient: their reward is not known, or they failed."""
    gradients: Mapping[str, ComponentGradient]
    """By component, of those that have parameters."""
    left_out: Mapping[str, int] = msgspec.field(default_factory=dict)
    """Why these have no part, where the runs are kept: ``failed``, or ``unknown`` and the term of the reward."""
    biased: tuple[str, ...] = ()
    """Steps outside whose gradient is that of a surrogate: what passes them is biased."""
    perturbed: int = 0
    """Runs of this update in which a component was perturbed."""
    skipped: str = ""
    """Why the weights were left as they are; empty where they were not."""
    held_out: HeldOutReport | None = None
    """Where this update was followed by an evaluation."""
    changed_code: tuple[str, ...] = ()
    """What of the components' code is other from this update on, in words."""


def left_out_of(runs: Iterable[Run]) -> dict[str, int]:
    """Why runs have no part in a figure: they failed, or a term of their reward that counts is unknown."""
    why: Counter[str] = Counter()
    for run in runs:
        if not run.succeeded:
            why["failed"] += 1
        else:
            why.update(f"unknown {each.name}" for each in run.rewards if each.value is None and each.weight != 0.0)
    return dict(sorted(why.items()))
