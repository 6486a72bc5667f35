"""How far a joint training is, what it is pinned to, and where it is kept; without torch, for those that only ask."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from stretto.components.tensor_file import read_header
from stretto.learn.joint.options import JointOptions
from stretto.learn.resuming import Code, held_already, nothing_held, read_progress
from stretto.learn.surrogates.manifest import Manifest as SurrogateManifest
from stretto.record.model import Manifest
from stretto.types.ids import Digest

FORMAT: Final = "stretto.joint-training/1"
STATE: Final = "state.safetensors"
WEIGHTS: Final = "weights"


class Best(msgspec.Struct, frozen=True, kw_only=True):
    """The weights that did best on the held-out fold; where nothing is held out, the last."""

    update: int
    """After which they were; 0 for those that it began with."""
    reward_mean: float | None
    """None where nothing is held out."""
    weights: Mapping[str, Digest]
    """By component, of those that have weights."""
    is_outdated: bool = False
    """Measured by other code than the training has now: the next evaluation counts more, whatever it comes to."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """What evaluations have come to."""

    best: Best | None
    waited: int
    """Evaluations since the best one."""


class JointProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a joint training is, and what it is pinned to."""

    manifest: Manifest
    """Of the workflow that it began with: its file, and each component with its weights."""
    files: Digest | None = None
    """Of the workflow's file and contract alone; here and below, None of a training that an older release began."""
    tasks: Digest
    options: JointOptions
    code: Code | None = None
    """Of its components."""
    beside_code: Mapping[str, str] | None = None
    """What is no Python code of components, and no training changes: frozen weights, a service; ``what@digest``."""
    learnt_with: Mapping[str, str] = msgspec.field(default_factory=dict)
    """What weights that learn mean beside their numbers, where their modules tell: as the headers of their files."""
    changed_code: tuple[str, ...] = ()
    """What became other of the code since the last report; the next one tells."""
    perturbed: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Of each component that is perturbed, how."""
    surrogates: Mapping[str, SurrogateManifest] = msgspec.field(default_factory=dict)
    """What is beside the tensors of each surrogate, by step."""
    update: int = 0
    """Updates made."""
    reports: int = 0
    """Lines of the curve that belong to it."""
    skipped: int = 0
    """How many of the last updates, in a row, left the weights as they were."""
    waited: int = 0
    """Evaluations since the best one."""
    before_end: Standing | None = None
    """What stood before an evaluation that was made for the end alone, and which a training that goes on forgets."""
    weights: Mapping[str, Digest] = msgspec.field(default_factory=dict)
    """By component, of the last update."""
    best: Best | None = None
    numbers: Digest = Digest("")
    """Of all the arrays beside this: disks and copies that change a bit are noticed."""
    format: str = FORMAT

    @property
    def has_ended_early(self) -> bool:
        """Whether as many evaluations brought nothing better as it has patience for."""
        patience = self.options.patience
        return patience is not None and self.waited >= patience

    def evaluated(self, update: int, reward_mean: float, weights: Mapping[str, Digest]) -> "JointProgress":
        """After an evaluation: with the best, and how long nothing was better."""
        known = None if self.best is None or self.best.is_outdated else self.best.reward_mean
        is_best = known is None or reward_mean > known
        before = Standing(best=self.best, waited=self.waited)
        return msgspec.structs.replace(
            self,
            best=Best(update=update, reward_mean=reward_mean, weights=weights) if is_best else self.best,
            waited=0 if is_best else self.waited + 1,
            before_end=before if update % self.options.evaluate_every else None,
        )

    def going_on(self) -> "JointProgress":
        """The same, where it goes on past an end that alone asked for an evaluation, as if that had not been made."""
        before = self.before_end
        if before is None or self.update >= self.options.updates:
            return self
        return msgspec.structs.replace(self, best=before.best, waited=before.waited, before_end=None)

    def with_other_code(self, code: tuple[str, ...]) -> "JointProgress":
        """The same, where what `code` says became other since: evaluations by what it was are no measure of it."""
        if not code:
            return self
        before = self.before_end
        return msgspec.structs.replace(
            self,
            changed_code=code,
            best=_outdated(self.best),
            waited=0,
            before_end=None if before is None else Standing(best=_outdated(before.best), waited=0),
        )

    @property
    def kept_weights(self) -> list[Mapping[str, Digest]]:
        """The weights whose files are not deleted."""
        bests = [self.best, self.before_end.best if self.before_end is not None else None]
        return [self.weights, *(best.weights for best in bests if best is not None)]

    @property
    def measured_weights(self) -> list[Mapping[str, Digest]]:
        """Of the evaluations that a training may come to: their files are there from the evaluation on."""
        bests = [self.best, self.before_end.best if self.before_end is not None else None]
        return [best.weights for best in bests if best is not None and best.reward_mean is not None]

    @property
    def has_ended(self) -> bool:
        """Whether nothing is left to do."""
        return self.update >= self.options.updates or self.has_ended_early


def _outdated(best: Best | None) -> Best | None:
    return None if best is None else msgspec.structs.replace(best, is_outdated=True)


class JointFolder:
    """Where one joint training keeps its state."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def begun(self) -> bool:
        """Whether it holds a training."""
        return (self.folder / STATE).exists()

    def check(self, *, resume: bool) -> None:
        """Raise UsageError where there is no training to go on with, or one that a new one would overwrite."""
        if resume and not self.begun:
            raise nothing_held(self.folder, STATE)
        if not resume and self.begun:
            raise held_already(self.folder, self.progress().update)

    def checkpoints(self, weights: Mapping[str, Digest]) -> dict[str, Path]:
        """The files of weights, by component."""
        return {name: self.folder / WEIGHTS / name / f"{digest}.safetensors" for name, digest in weights.items()}

    def prune(self, kept: Iterable[Mapping[str, Digest]]) -> None:
        """Delete every file of weights but these, and what a killed training had not written to its end."""
        wanted = {path for weights in kept for path in self.checkpoints(weights).values()}
        found = [*(self.folder / WEIGHTS).glob("*/*.safetensors"), *self.folder.rglob(".*.part")]
        for path in found:
            if path not in wanted:
                path.unlink(missing_ok=True)

    def progress(self) -> JointProgress:
        """How far it is. Raises StoreError when what is there is no such state."""
        path = self.folder / STATE
        return read_progress(path, read_header(path), JointProgress, "a joint training", FORMAT)
