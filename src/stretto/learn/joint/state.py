"""A joint training's state on disk: enough to go on as if it had never stopped.

    FOLDER/state.safetensors                    the weights, the optimisers' moments, and how far it is
    FOLDER/curve.jsonl                          a report for each update
    FOLDER/weights/<component>/<digest>.safetensors     the best so far, and at the end the last
    FOLDER/training.lock                        held while a training is at work

The state is replaced last, whole or not at all, so a crash at any moment leaves the last update that was kept; what was
appended to the curve after it is cut off. No random generator is kept: every draw is made from (seed, update).
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import torch
from torch import Tensor

from stretto.components.tensor_file import read_tensors, write_tensors
from stretto.components.torch.weights import numbers_of, save_weights, weights_digest
from stretto.engine.history import changed_components
from stretto.learn.differentiable.module import DifferentiableWorkflow
from stretto.learn.joint.learners import Arrays, Learners, learning_in, module_of
from stretto.learn.joint.options import JointOptions
from stretto.record.model import Manifest
from stretto.spec.suggest import nearest
from stretto.types.errors import StoreError, UsageError
from stretto.types.ids import Digest

FORMAT: Final = "stretto.joint-training/1"
STATE: Final = "state.safetensors"
WEIGHTS: Final = "weights"

_MAY_DIFFER: Final = ("updates", "patience")
"""Options that decide when a training ends and nothing that it comes to before."""


class Best(msgspec.Struct, frozen=True, kw_only=True):
    """The weights that did best on the held-out fold; where nothing is held out, the last."""

    update: int
    """After which they were; 0 for those that it began with."""
    reward_mean: float | None
    """None where nothing is held out."""
    weights: Mapping[str, Digest]
    """By component, of those that have weights."""


class JointProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a joint training is, and what it is pinned to."""

    manifest: Manifest
    """Of the workflow that it began with: its file, and each component with its weights."""
    tasks: Digest
    options: JointOptions
    update: int = 0
    """Updates made."""
    reports: int = 0
    """Lines of the curve that belong to it."""
    skipped: int = 0
    """How many of the last updates, in a row, left the weights as they were."""
    waited: int = 0
    """Evaluations since the best one."""
    weights: Mapping[str, Digest] = msgspec.field(default_factory=dict)
    """By component, of the last update."""
    best: Best | None = None
    format: str = FORMAT

    @property
    def has_ended_early(self) -> bool:
        """Whether as many evaluations brought nothing better as it has patience for."""
        patience = self.options.patience
        return patience is not None and self.waited >= patience

    @property
    def has_ended(self) -> bool:
        """Whether nothing is left to do."""
        return self.update >= self.options.updates or self.has_ended_early


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
            beside = [path.parent.name for path in sorted(self.folder.parent.glob(f"*/{STATE}"))]
            near = nearest(self.folder.name, beside)
            hint = f"did you mean {self.folder.with_name(near)}?" if near else "leave out `resume` to begin one there"
            raise UsageError(f"{self.folder} holds no training to go on with; {hint}")
        if not resume and self.begun:
            update = self.load()[0].update
            raise UsageError(
                f"{self.folder} holds a training already, {update} update{'' if update == 1 else 's'} long; go on with "
                "it (resume=True), or train in another folder"
            )

    def checkpoints(self, weights: Mapping[str, Digest]) -> dict[str, Path]:
        """The files of weights, by component."""
        return {name: self.folder / WEIGHTS / name / f"{digest}.safetensors" for name, digest in weights.items()}

    def save_weights(self, module: DifferentiableWorkflow) -> dict[str, Path]:
        """Keep the weights that the modules have now, each in a file of its own; returns these."""
        return {
            name: save_weights(module_of(module, name), self.folder / WEIGHTS / name) for name in learning_in(module)
        }

    def save(self, progress: JointProgress, module: DifferentiableWorkflow, learners: Learners) -> None:
        """Replace the state. Raises StoreError when the disk refuses."""
        arrays: Arrays = {f"{WEIGHTS}/{key}": numbers_of(key, tensor) for key, tensor in _changing(module).items()}
        header = msgspec.json.encode(progress, order="deterministic")
        write_tensors(self.folder / STATE, {**arrays, **learners.state()}, header)

    def prune(self, kept: Iterable[Mapping[str, Digest]]) -> None:
        """Delete every file of weights but these, and what a killed training had not written to its end."""
        wanted = {path for weights in kept for path in self.checkpoints(weights).values()}
        found = [*(self.folder / WEIGHTS).glob("*/*.safetensors"), *self.folder.rglob(".*.part")]
        for path in found:
            if path not in wanted:
                path.unlink(missing_ok=True)

    def load(self) -> tuple[JointProgress, Arrays]:
        """The progress, the weights and what the optimisers remember. Raises StoreError when it is no such state."""
        path = self.folder / STATE
        arrays, header = read_tensors(path)
        try:
            progress = msgspec.json.decode(header, type=JointProgress)
        except msgspec.MsgspecError as error:
            raise StoreError(
                f"{path} is not the state of a joint training ({FORMAT}): {error}. Train in another folder"
            ) from error
        if progress.format != FORMAT:
            raise StoreError(f"{path} has the format {progress.format!r}, this release reads {FORMAT!r}")
        return progress, arrays


def digests_of(module: DifferentiableWorkflow) -> dict[str, Digest]:
    """Of the weights of each component that learns."""
    return {name: weights_digest(module_of(module, name).state_dict()) for name in learning_in(module)}


def _changing(module: DifferentiableWorkflow) -> dict[str, Tensor]:
    """The weights that a training changes, and what modules count beside them; what is frozen, its pin tells."""
    found: dict[str, Tensor] = {}
    for name in learning_in(module):
        own = module_of(module, name)
        frozen = {key for key, parameter in own.named_parameters() if not parameter.requires_grad}
        found |= {f"{name}/{key}": tensor for key, tensor in own.state_dict().items() if key not in frozen}
    return found


def take_up(
    kept: JointFolder, module: DifferentiableWorkflow, learners: Learners, fresh: JointProgress
) -> JointProgress:
    """Set modules and optimisers to where the training in a folder stands; `fresh` is what it would begin with now.

    Raises UsageError, with all that differs, unless that may go on with it.
    """
    progress, arrays = kept.load()
    changed = [
        *_changed_options(progress.options, fresh.options),
        *(["the tasks are others"] if progress.tasks != fresh.tasks else []),
        *_changed_workflow(progress.manifest, fresh.manifest),
    ]
    if changed:
        raise UsageError(
            f"the training in {kept.folder} cannot be resumed: {', '.join(changed)}. Give the same, or train in "
            "another folder"
        )
    with torch.no_grad():
        for key, tensor in _changing(module).items():
            tensor.copy_(torch.from_numpy(arrays[f"{WEIGHTS}/{key}"]))
    learners.restore(arrays)
    return msgspec.structs.replace(progress, options=fresh.options)


def _changed_options(before: JointOptions, now: JointOptions) -> list[str]:
    was, is_now = _flat(before), _flat(now)
    names = [name for name in {**was, **is_now} if was.get(name) != is_now.get(name)]
    return [f"{name} was {_told(was, name)} and is now {_told(is_now, name)}" for name in names]


def _flat(options: JointOptions) -> dict[str, Any]:
    """Every option that is set, those of a component as ``component.option``."""
    found: dict[str, Any] = msgspec.to_builtins(options)  # without those that are unset
    components = found.pop("components")
    own = {f"{name}.{key}": value for name, given in components.items() for key, value in given.items()}
    return {name: value for name, value in {**found, **own}.items() if name not in _MAY_DIFFER}


def _told(options: dict[str, Any], name: str) -> str:
    return json.dumps(options[name]).strip('"') if name in options else "not set"


def _changed_workflow(before: Manifest, now: Manifest) -> list[str]:
    if before.workflow != now.workflow:
        return [f"the workflow was '{before.workflow}' and is now '{now.workflow}'"]
    file = ["the workflow's file or contract is another"] if before.plan != now.plan else []
    return [*file, *(f"component '{name}' is another" for name in sorted(changed_components(before, now)))]
