"""A surrogate's file: its network by digest, its manifest in the header, and all that it goes on learning from.

FOLDER/<digest>.safetensors    one surrogate
FOLDER/surrogates.json         which of them is of which step
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec
import torch
from torch import Tensor

from stretto.components.tensor_file import read_tensors, write_tensors
from stretto.components.torch.weights import weights_digest
from stretto.learn.surrogates.manifest import FORMAT, Manifest
from stretto.learn.surrogates.surrogate import Surrogate
from stretto.spec.suggest import nearest
from stretto.store.whole_file import whole_file
from stretto.types.errors import StoreError, UsageError

_INDEX: Final = "surrogates.json"

HOW: Final = "Fit one of recorded runs (`module.fit_surrogates(runs)`) and save it, or ask for none: it learns online"

AGAIN: Final = "Fit it again, or copy its file again"

Tensors: TypeAlias = Mapping[str, Tensor]


def save_surrogates(surrogates: Mapping[str, Surrogate], folder: Path) -> Path:
    """Write each surrogate, then which is of which step. Raises StoreError when the disk refuses."""
    index = {step: _save(each, folder).name for step, each in surrogates.items()}
    with whole_file(folder / _INDEX) as file:
        file.write(msgspec.json.encode(index, order="sorted"))
    return folder


def load_surrogates(surrogates: Mapping[str, Surrogate], folder: Path) -> None:
    """Let each surrogate go on as the folder's of its step.

    All of them or none. Raises UsageError for a step that the folder has none of, or one of another form; StoreError
    for a damaged file.
    """
    index = _index(folder)
    found: list[tuple[Surrogate, Manifest, Tensors]] = []
    for step, surrogate in surrogates.items():
        if step not in index:
            near = nearest(step, index)
            there = f"it has: {', '.join(index)}" if index else "it has none"
            meant = f" Did you mean '{near}'?" if near else ""
            raise UsageError(f"{folder} has no surrogate of step '{step}'; {there}.{meant} {HOW}")
        found.append((surrogate, *_read(surrogate, folder / index[step])))
    for surrogate, manifest, tensors in found:
        surrogate.become(manifest, tensors)


def _save(surrogate: Surrogate, folder: Path) -> Path:
    tensors = {name: tensor.detach() for name, tensor in surrogate.tensors().items() if tensor.numel()}
    manifest = msgspec.structs.replace(surrogate.manifest(), whole=weights_digest(tensors))
    arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
    path = folder / f"{surrogate.digest}.safetensors"
    write_tensors(path, arrays, msgspec.json.encode(manifest, order="deterministic"))
    return path


def _index(folder: Path) -> dict[str, str]:
    try:
        found: dict[str, str] = msgspec.json.decode((folder / _INDEX).read_bytes(), type=dict[str, str])
    except FileNotFoundError as error:
        raise UsageError(f"{folder} holds no surrogates: {_INDEX} is not there. {HOW}") from error
    except (OSError, msgspec.MsgspecError) as error:
        raise StoreError(f"{folder / _INDEX} cannot be read: {error}. Save the surrogates again") from error
    return found


def _read(surrogate: Surrogate, path: Path) -> tuple[Manifest, Tensors]:
    """What a file holds, which is whole and of this surrogate's form."""
    arrays, header = read_tensors(path)
    try:
        manifest: Manifest = msgspec.json.decode(header, type=Manifest)
    except msgspec.MsgspecError as error:
        raise StoreError(f"{path} is no surrogate ({FORMAT}): {error}. {AGAIN}") from error
    if manifest.format != FORMAT:
        raise StoreError(f"{path} is a surrogate of the form {manifest.format}; expected {FORMAT}. {AGAIN}")
    here: dict[str, Any] = {"what": surrogate.what, "shown": surrogate.shown, "told": surrogate.told}
    for name, value in here.items():
        if getattr(manifest, name) != value:
            raise UsageError(
                f"surrogate {path} is of another step than '{surrogate.step}' now is: `{name}` was "
                f"{getattr(manifest, name)} and is now {value}. Fit it again, of runs of this workflow"
            )
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    if weights_digest(tensors) != manifest.whole:
        raise StoreError(f"{path} holds other numbers than its digest says: the file was changed. {AGAIN}")
    return manifest, tensors
