"""What is told of each update of a joint training. It holds no times: a resumed training reports the same numbers."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec


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
    is_best: bool
    """Better than every one before it, by the training's own folder."""


class JointReport(msgspec.Struct, frozen=True, kw_only=True):
    """One update."""

    update: int
    """1 for the first; 0 tells of the evaluation before it."""
    runs: int
    """Made for updates so far."""
    reward_mean: float | None
    """Of this update's runs before its step, as far as it is known; None where it is for none."""
    unknown: int
    """Runs of this update that have no part in the gradient: their reward is not known, or they failed."""
    gradients: Mapping[str, ComponentGradient]
    """By component, of those that have parameters."""
    skipped: str = ""
    """Why the weights were left as they are; empty where they were not."""
    held_out: HeldOutReport | None = None
    """Where this update was followed by an evaluation."""
