"""A joint training's state on disk: enough to go on as if it had never stopped.

    FOLDER/state.safetensors                    the weights, the optimisers' moments, and how far it is
    FOLDER/curve.jsonl                          a report for each update
    FOLDER/weights/<component>/<digest>.safetensors     the best so far, and at the end the last
    FOLDER/training.lock                        held while a training is at work

The state is replaced last, whole or not at all, so a crash at any moment leaves the last update that was kept; what was
appended to the curve after it is cut off. No random generator is kept: every draw is made from (seed, update).
"""

import json
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
from stretto.learn.joint.progress import STATE, WEIGHTS, JointFolder, JointProgress
from stretto.record.model import Manifest
from stretto.types.errors import UsageError
from stretto.types.ids import Digest

_MAY_DIFFER: Final = ("updates", "patience")
"""Options that decide when a training ends and nothing that it comes to before."""


def keep_weights(kept: JointFolder, module: DifferentiableWorkflow) -> None:
    """Keep the weights that the modules have now, each in a file of its own."""
    for name in learning_in(module):
        save_weights(module_of(module, name), kept.folder / WEIGHTS / name)


def keep_state(kept: JointFolder, progress: JointProgress, module: DifferentiableWorkflow, learners: Learners) -> None:
    """Replace the state. Raises StoreError when the disk refuses."""
    arrays: Arrays = {f"{WEIGHTS}/{key}": numbers_of(key, tensor) for key, tensor in _changing(module).items()}
    header = msgspec.json.encode(progress, order="deterministic")
    write_tensors(kept.folder / STATE, {**arrays, **learners.state()}, header)


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
    progress = kept.progress()
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
    arrays, _ = read_tensors(kept.folder / STATE)
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
