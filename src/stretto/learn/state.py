"""A training's state on disk: enough to go on as if it had never stopped.

    FOLDER/weights/<digest>.safetensors    the weights after each update, and those it started from
    FOLDER/training.lock                   held while a training is at work
    FOLDER/state.safetensors               which of them are present, the optimiser's moments, the reports so far

The state is replaced after its weights are written, each whole or not at all, so a crash or Ctrl-C at any moment
leaves the last finished update. No random generator is kept: every draw is made from (seed, update).
"""

from itertools import takewhile
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy.typing as npt

from stretto.components.policy_weights import PolicyWeights
from stretto.components.tensor_file import read_tensors, write_tensors
from stretto.learn.options import TrainOptions
from stretto.learn.resuming import Code, changed_options, hold_to_same, nothing_held, other_code, read_progress
from stretto.learn.samples import Samples
from stretto.learn.update import Learner, UpdateReport
from stretto.types.ids import Digest

FORMAT: Final = "stretto.training/1"
_STATE: Final = "state.safetensors"
_WEIGHTS: Final = "weights"


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a training is."""

    start: Digest
    """Weights that it started from; the reference of the KL term."""
    weights: Digest
    """Weights that it has reached."""
    tasks: Digest
    options: TrainOptions
    code: Code | None = None
    """Of the components that its runs call; None where nobody looked, or an older release began it."""
    changed_code: tuple[str, ...] = ()
    """What became other of it since the last report; the next one tells."""
    reports: tuple[UpdateReport, ...] = ()
    """Of every update made, in order."""
    format: str = FORMAT

    @property
    def update(self) -> int:
        """Updates made."""
        return len(self.reports)

    @property
    def skipped(self) -> int:
        """How many of the last ones, in a row, accidents left nothing to learn from."""
        return len(list(takewhile(lambda report: report.is_skipped, reversed(self.reports))))


class TrainFolder:
    """Where one training keeps its state."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def begun(self) -> bool:
        """Whether it holds a training."""
        return (self.folder / _STATE).exists()

    def check_started(self) -> None:
        """Raise UsageError when no training was ever started in it, so that nothing can be gone on with."""
        if self.begun or (self.folder / _WEIGHTS).is_dir():
            return
        raise nothing_held(self.folder, _WEIGHTS)

    def checkpoint(self, weights: Digest) -> Path:
        """The file of the weights with this digest."""
        return self.folder / _WEIGHTS / f"{weights}.safetensors"

    def save_weights(self, weights: PolicyWeights) -> Path:
        """Keep weights; returns their checkpoint."""
        return weights.save(self.folder / _WEIGHTS)

    def save(self, progress: Progress, learner: Learner) -> None:
        """Keep weights and state. Raises StoreError when the disk refuses."""
        self.save_weights(learner.weights)
        header = msgspec.json.encode(progress, order="deterministic")
        write_tensors(self.folder / _STATE, learner.adam.state(), header)

    def load(self) -> tuple[Progress, dict[str, npt.NDArray[Any]]]:
        """The progress, and the optimiser's state. Raises StoreError when it is no training's state."""
        path = self.folder / _STATE
        arrays, header = read_tensors(path)
        return read_progress(path, header, Progress, "a training", FORMAT), arrays


def taken_up(kept: TrainFolder, learner: Learner, fresh: Progress, *, changed_code: bool = False) -> Progress:
    """Set a learner to where the training in a folder stands; `fresh` is what it would begin with now.

    Raises UsageError unless that may go on with it, StoreError where it cannot be read.
    """
    progress, moments = kept.load()
    code = other_code(progress.code, fresh.code)
    hold_to_same(kept.folder, _changed(progress, fresh), code, changed_code=changed_code)
    learner.adam.restore(moments)
    learner.dense_FK = learner.start.with_weights(str(kept.checkpoint(progress.weights))).weights.dense_FK.copy()
    return msgspec.structs.replace(progress, options=fresh.options, code=fresh.code, changed_code=tuple(code))


def advanced(kept: TrainFolder, learner: Learner, progress: Progress, samples: Samples) -> Progress:
    """Learn from one update's samples, and keep what came of it. Raises LearningError where they hold no decision."""
    report = learner.learn(samples, progress.update + 1, skipped=progress.skipped)
    report = msgspec.structs.replace(report, changed_code=progress.changed_code)
    progress = msgspec.structs.replace(
        progress, weights=report.weights, reports=(*progress.reports, report), changed_code=()
    )
    kept.save(progress, learner)
    return progress


def _changed(progress: Progress, fresh: Progress) -> list[str]:
    """What differs, but for the code, from what a training would begin with now, in words; `updates` may."""
    changed = _changed_options(progress.options, fresh.options)
    if progress.tasks != fresh.tasks:
        changed.append("the tasks are others")
    if progress.start != fresh.start:
        changed.append(f"the weights to start from were {progress.start[:8]} and are now {fresh.start[:8]}")
    return changed


def _changed_options(before: TrainOptions, now: TrainOptions) -> list[str]:
    was, is_now = msgspec.to_builtins(before), msgspec.to_builtins(now)  # without those that are unset
    return changed_options(was, is_now, [name for name in TrainOptions.__struct_fields__ if name != "updates"])
