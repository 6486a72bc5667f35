"""A surrogate's file: its network by digest, its manifest in the header, and all that it goes on learning from.

FOLDER/<digest>.safetensors    one surrogate
FOLDER/surrogates.json         which of them is of which step
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import torch

from stretto.components.tensor_file import read_tensors, write_tensors
from stretto.learn.surrogates.manifest import FORMAT, Manifest
from stretto.learn.surrogates.surrogate import Surrogate
from stretto.spec.suggest import nearest
from stretto.store.whole_file import whole_file
from stretto.types.errors import StoreError, UsageError

_INDEX: Final = "surrogates.json"

HOW: Final = "Fit one of recorded runs (`module.fit_surrogates(runs)`) and save it, or ask for none: it learns online"


def save_surrogates(surrogates: Mapping[str, Surrogate], folder: Path) -> Path:
    """Write each surrogate, then which is of which step. Raises StoreError when the disk refuses."""
    index = {step: _save(each, folder).name for step, each in surrogates.items()}
    with whole_file(folder / _INDEX) as file:
        file.write(msgspec.json.encode(index, order="sorted"))
    return folder


def load_surrogates(surrogates: Mapping[str, Surrogate], folder: Path) -> None:
    """Let each surrogate go on as the folder's of its step.

    Raises UsageError for a step that the folder has none of, or one of another form; StoreError for a damaged file.
    """
    index = _index(folder)
    for step, surrogate in surrogates.items():
        if step not in index:
            near = nearest(step, index)
            there = f"it has: {', '.join(index)}" if index else "it has none"
            meant = f" Did you mean '{near}'?" if near else ""
            raise UsageError(f"{folder} has no surrogate of step '{step}'; {there}.{meant} {HOW}")
        _load(surrogate, folder / index[step])


def _save(surrogate: Surrogate, folder: Path) -> Path:
    manifest = surrogate.manifest()
    arrays = {name: tensor.detach().numpy() for name, tensor in surrogate.tensors().items() if tensor.numel()}
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


def _load(surrogate: Surrogate, path: Path) -> None:
    arrays, header = read_tensors(path)
    try:
        manifest: Manifest = msgspec.json.decode(header, type=Manifest)
    except msgspec.MsgspecError as error:
        raise StoreError(f"{path} is no surrogate ({FORMAT}): {error}. Fit it again") from error
    here: dict[str, Any] = {"what": surrogate.what, "shown": surrogate.shown, "told": surrogate.told}
    for name, value in here.items():
        if getattr(manifest, name) != value:
            raise UsageError(
                f"surrogate {path} is of another step than '{surrogate.step}' now is: `{name}` was "
                f"{getattr(manifest, name)} and is now {value}. Fit it again, of runs of this workflow"
            )
    surrogate.become(manifest, {name: torch.from_numpy(array) for name, array in arrays.items()})
    if surrogate.digest != manifest.digest:
        raise StoreError(f"{path} holds other weights than its digest says: the file was changed. Fit it again")
