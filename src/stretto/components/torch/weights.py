"""A module's weights: their digest, and their file."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy.typing as npt
import torch
from torch import Tensor, nn

from stretto.components.tensor_file import read_tensors, write_tensors
from stretto.components.torch.learnt_with import header_of, hold_to
from stretto.record.canonical import canonical
from stretto.types.errors import StoreError, UsageError
from stretto.types.ids import Digest


def weights_digest(state: Mapping[str, Tensor]) -> Digest:
    """SHA-256 over names, types, shapes and numbers: what a module chose and answered with."""
    digest = sha256()
    for name in sorted(state):
        tensor = state[name].detach().cpu().contiguous()
        digest.update(canonical([name, str(tensor.dtype), list(tensor.shape)]))
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return Digest(digest.hexdigest())


def save_weights(module: nn.Module, folder: Path) -> Path:
    """Write ``<digest>.safetensors`` into the folder, whole or not at all, with what they were learnt with.

    Returns its path. Raises UsageError for a type of numbers that numpy does not have, such as bfloat16.
    """
    state = module.state_dict()
    path = folder / f"{weights_digest(state)}.safetensors"
    arrays = {name: numbers_of(name, tensor) for name, tensor in state.items()}
    write_tensors(path, arrays, header_of(module))
    return path


def numbers_of(name: str, tensor: Tensor) -> npt.NDArray[Any]:
    """A tensor's numbers, on this side; UsageError for a type that numpy does not have, such as bfloat16."""
    try:
        array: npt.NDArray[Any] = tensor.detach().cpu().numpy()
    except TypeError as error:
        raise UsageError(
            f"the weights '{name}' are of {tensor.dtype}, which a checkpoint cannot hold; keep them as float32, and "
            "compute in another type by torch.autocast"
        ) from error
    return array


def load_weights(module: nn.Module, path: Path, component: str) -> None:
    """Put a file's weights in.

    Raises UsageError when they are of another module, or were learnt with what this one has not; StoreError when the
    file is not whole or was renamed.
    """
    arrays, header = read_tensors(path)
    hold_to(header, module, path, component)
    state = {name: torch.from_numpy(array) for name, array in arrays.items()}
    found = {name: list(tensor.shape) for name, tensor in state.items()}
    wanted = {name: list(tensor.shape) for name, tensor in module.state_dict().items()}
    if found != wanted:
        apart = sorted(name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name))
        first = apart[0]
        raise UsageError(
            f"checkpoint {path} is of another module than component '{component}': its '{first}' is "
            f"{found.get(first, 'not there')}, the module's {wanted.get(first, 'not there')}. Give the weights that "
            "were trained with this module, or train again"
        )
    digest, named = weights_digest(state), path.name.removesuffix(".safetensors")
    if len(named) == len(digest) and named != digest:
        raise StoreError(
            f"checkpoint {path} holds the weights {digest[:8]}, not those of its name: the file was changed or "
            "renamed. Restore it, or train again"
        )
    module.load_state_dict(state)
