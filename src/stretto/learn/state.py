"""A training's state on disk: enough to go on as if it had never stopped.

    FOLDER/weights/<digest>.safetensors    the weights after each update, and those it started from
    FOLDER/state.safetensors               which of them are present, the optimiser's moments, the reports so far

The state is replaced after its weights are written, each whole or not at all, so a crash or Ctrl-C at any moment
leaves the last finished update. No random generator is kept: every draw is made from (seed, update).
"""

from pathlib import Path
from typing import Any, Final

import msgspec
import numpy.typing as npt

from stretto.components.policy_weights import PolicyWeights
from stretto.components.tensor_file import read_tensors, write_tensors
from stretto.learn.options import TrainOptions
from stretto.learn.update import Learner, UpdateReport
from stretto.types.errors import StoreError, UsageError
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
    reports: tuple[UpdateReport, ...] = ()
    """Of every update made, in order."""
    format: str = FORMAT

    @property
    def update(self) -> int:
        """Updates made."""
        return len(self.reports)


class TrainFolder:
    """Where one training keeps its state."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def begun(self) -> bool:
        """Whether it holds a training."""
        return (self.folder / _STATE).exists()

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
        try:
            progress = msgspec.json.decode(header, type=Progress)
        except msgspec.MsgspecError as error:
            raise StoreError(
                f"{path} is not the state of a training ({FORMAT}): {error}. Train in another folder"
            ) from error
        if progress.format != FORMAT:
            raise StoreError(f"{path} has the format {progress.format!r}, this release reads {FORMAT!r}")
        return progress, arrays


def check_resumable(progress: Progress, options: TrainOptions, tasks: Digest, start: Digest, folder: Path) -> None:
    """Raise UsageError unless a training may go on with these options, tasks and start; `updates` may differ."""
    for what, before, now in (
        ("options", _without_updates(progress.options), _without_updates(options)),
        ("tasks", progress.tasks[:8], tasks[:8]),
        ("the weights to start from", progress.start[:8], start[:8]),
    ):
        if before != now:
            raise UsageError(
                f"the training in {folder} cannot be resumed: {what} were {before} and are now {now}. Give the same, "
                "or train in another folder"
            )


def _without_updates(options: TrainOptions) -> dict[str, Any]:
    given: dict[str, Any] = msgspec.to_builtins(options)
    return {name: value for name, value in given.items() if name != "updates"}
