"""A joint training's state on disk: enough to go on as if it had never stopped.

    FOLDER/state.safetensors                    the weights, the optimisers' moments, and how far it is
    FOLDER/curve.jsonl                          a report for each update
    FOLDER/weights/<component>/<digest>.safetensors     the best so far, and at the end the last
    FOLDER/training.lock                        held while a training is at work

The state is replaced last, whole or not at all, so a crash at any moment leaves the last update that was kept; what was
appended to the curve after it is cut off. No random generator is kept: every draw is made from (seed, update).
"""

from typing import Final

import msgspec
import torch

from stretto.components.tensor_file import read_tensors, write_tensors
from stretto.components.torch.weights import numbers_of, save_weights, weights_digest
from stretto.learn.differentiable.module import DifferentiableWorkflow
from stretto.learn.joint.learners import Arrays, Learners, learning_in, module_of
from stretto.learn.joint.progress import STATE, WEIGHTS, JointFolder, JointProgress
from stretto.learn.joint.same import changing, hold_to, hold_to_form
from stretto.types.errors import StoreError
from stretto.types.ids import Digest

_SURROGATES: Final = "surrogates"


def keep_weights(kept: JointFolder, module: DifferentiableWorkflow) -> None:
    """Keep the weights that the modules have now, each in a file of its own."""
    for name in learning_in(module):
        save_weights(module_of(module, name), kept.folder / WEIGHTS / name)


def keep_state(kept: JointFolder, progress: JointProgress, module: DifferentiableWorkflow, learners: Learners) -> None:
    """Replace the state. Raises StoreError when the disk refuses."""
    manifests = {step: each.manifest() for step, each in module.surrogates.items()}
    weights: Arrays = {f"{WEIGHTS}/{key}": numbers_of(key, tensor) for key, tensor in changing(module).items()}
    arrays = {**weights, **learners.state(), **_surrogates(module)}
    progress = msgspec.structs.replace(progress, surrogates=manifests, numbers=_digest(arrays))
    write_tensors(kept.folder / STATE, arrays, msgspec.json.encode(progress, order="deterministic"))


def _digest(arrays: Arrays) -> Digest:
    return weights_digest({name: torch.from_numpy(array) for name, array in arrays.items()})


def _surrogates(module: DifferentiableWorkflow) -> Arrays:
    """All that the surrogates of choices and steps are made of."""
    return {
        f"{_SURROGATES}/{step}/{name}": tensor.detach().cpu().numpy()
        for step, each in module.surrogates.items()
        for name, tensor in each.tensors().items()
        if tensor.numel()
    }


def _restore_surrogates(module: DifferentiableWorkflow, progress: JointProgress, arrays: Arrays) -> None:
    for step, surrogate in module.surrogates.items():
        start, manifest = f"{_SURROGATES}/{step}/", progress.surrogates[step]
        own = {key[len(start) :]: torch.from_numpy(each) for key, each in arrays.items() if key.startswith(start)}
        surrogate.become(manifest, own)
        surrogate.parent = manifest.parent  # it is the same one, and none that went on from a saved one


def digests_of(module: DifferentiableWorkflow) -> dict[str, Digest]:
    """Of the weights of each component that learns."""
    return {name: weights_digest(module_of(module, name).state_dict()) for name in learning_in(module)}


def take_up(
    kept: JointFolder, module: DifferentiableWorkflow, learners: Learners, fresh: JointProgress, *, changed_code: bool
) -> JointProgress:
    """Set modules and optimisers to where the training in a folder stands; `fresh` is what it would begin with now.

    Raises UsageError, with all that differs, unless that may go on with it; StoreError where what is in the folder was
    changed since, or has gone: now, and not when all updates are made.
    """
    progress = kept.progress()
    code = hold_to(progress, fresh, kept.folder, changed_code=changed_code)
    arrays = _whole(kept, progress)
    hold_to_form(progress, module, arrays, kept.folder)
    with torch.no_grad():
        for key, tensor in changing(module).items():
            tensor.copy_(torch.from_numpy(arrays[f"{WEIGHTS}/{key}"]))
    learners.restore(arrays)
    _restore_surrogates(module, progress, arrays)
    return msgspec.structs.replace(
        progress.with_other_code(code),
        manifest=fresh.manifest,
        files=fresh.files,
        options=fresh.options,
        code=fresh.code,
        beside_code=fresh.beside_code,
        learnt_with=fresh.learnt_with,
    )


def _whole(kept: JointFolder, progress: JointProgress) -> Arrays:
    """The arrays of a state, held to what was written, beside the weights that it speaks of."""
    arrays, _ = read_tensors(kept.folder / STATE)
    if _digest(arrays) != progress.numbers:
        raise StoreError(
            f"the numbers in {kept.folder / STATE} are not those that the training kept: the file was changed or "
            "damaged. Restore it, or train in another folder"
        )
    for weights in progress.measured_weights:
        for name, path in kept.checkpoints(weights).items():
            if not path.is_file():
                raise StoreError(
                    f"the best weights of component '{name}' are not at {path}, where the training kept them; restore "
                    "the file, or train in another folder"
                )
    return arrays
