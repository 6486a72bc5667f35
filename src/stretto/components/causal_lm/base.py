"""Language models as they come: found on this machine, loaded once, frozen, and shared by all who build on them."""

import copy
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from weakref import WeakValueDictionary

import torch
from safetensors import SafetensorError
from torch import nn

from stretto.components.causal_lm.extra import need_gguf, need_transformers
from stretto.components.causal_lm.words import Words, held_tokens
from stretto.components.torch.weights import weights_digest
from stretto.record.canonical import canonical
from stretto.types.errors import UsageError

GGUF: Final = ".gguf"

_STUMBLES: Final = (OSError, ValueError, KeyError, RuntimeError, SafetensorError, struct.error)
"""What that package and its readers raise over files that are missing, cut short, of no model or of another one."""


@dataclass(frozen=True, kw_only=True)
class Base:
    """A model that nobody changes: whoever builds on it takes `body`, which has the same weights."""

    model: nn.Module
    words: Words
    digest: bytes
    """SHA-256 over weights, configuration and tokenizer."""

    def body(self) -> Any:
        """The model's layers anew, with the very same weights."""
        return copy.deepcopy(self.model, {id(each): each for each in self.model.parameters()})


_LOADED: Final[WeakValueDictionary[tuple[object, ...], Base]] = WeakValueDictionary()


def base_of(component: str, model: Any, tokenizer: Any) -> Base:
    """A model that is in memory. What it is stays as it is; its weights take no more gradients.

    Raises UsageError for what is no causal language model of ``transformers``.
    """
    if not (callable(getattr(model, "get_output_embeddings", None)) and model.get_output_embeddings() is not None):
        raise UsageError(
            f"component '{component}': {type(model).__name__} is no causal language model, it has no output "
            "embeddings; give one such as transformers.AutoModelForCausalLM makes"
        )
    if getattr(model, "_is_stateful", False):
        raise UsageError(
            f"component '{component}': {type(model).__name__} keeps a running state in place of keys and values, so "
            "alternatives cannot be asked side by side after one prompt; give a model of attention layers alone"
        )
    words = held_tokens(component, tokenizer)
    model.requires_grad_(False)
    return Base(model=model.eval(), words=words, digest=_digest(model, words))


def load_base(component: str, model: str, folder: Path, *, download: bool = False) -> Base:
    """The model at a path relative to the folder, or of a name on the Hugging Face Hub that this machine has a copy of.

    Nothing is fetched unless `download` says so. Raises UsageError where there is none, or it cannot be loaded.
    """
    need_transformers(f"component '{component}' of kind causal-lm")
    place = _place(component, model, folder, download=download)
    key = (str(place), *_stamps(place))
    found = _LOADED.get(key)
    if found is None:
        _LOADED[key] = found = base_of(component, *_read(component, place))
    return found


def _place(component: str, model: str, folder: Path, *, download: bool) -> Path:
    """The file or folder that holds the model."""
    here = folder / Path(model).expanduser()
    if here.exists():
        return here.resolve()
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError, RepositoryNotFoundError

    try:
        return Path(snapshot_download(model, local_files_only=not download))
    except (LocalEntryNotFoundError, HFValidationError, RepositoryNotFoundError, OSError) as error:
        fetched = f"`hf download {model}` fetches it, or `download: true` lets the first load do so"
        why = f"the Hub has none that could be fetched ({error})" if download else "nothing is fetched unasked"
        raise UsageError(
            f"component '{component}': no model '{model}': {here} is not there, this machine's Hugging Face cache has "
            f"none of that name, and {why}. Give the path of a folder with config.json, weights and tokenizer, or of a "
            f"{GGUF} file" + ("" if download else f"; {fetched}")
        ) from error


def _stamps(place: Path) -> tuple[tuple[str, int, int], ...]:
    """What changes when the files do."""
    files = [place] if place.is_file() else sorted(each for each in place.iterdir() if each.is_file())
    return tuple((each.name, stat.st_size, stat.st_mtime_ns) for each in files for stat in (each.stat(),))


def _read(component: str, place: Path) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    options: dict[str, Any] = {"local_files_only": True}
    if place.suffix == GGUF:
        need_gguf(f"component '{component}', whose model is a {GGUF} file,")
        place, options["gguf_file"] = place.parent, place.name
    has_bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # transformers' own
    try:
        read: Any = AutoModelForCausalLM.from_pretrained(
            str(place), dtype=torch.float32, output_loading_info=True, **options
        )
        model, told = read
        _hold_whole(component, place, told)
        return model, _tokenizer(AutoTokenizer, str(place), options)
    except _STUMBLES as error:
        raise UsageError(
            f"component '{component}': {place} holds no causal language model that transformers can load: {error}. "
            "Expected config.json with weights and a tokenizer, as `save_pretrained` writes them"
        ) from error
    finally:
        if has_bars:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]  # as above


def _hold_whole(component: str, place: Path, told: Mapping[str, Any]) -> None:
    """Raise UsageError where weights are not in the files: that package would draw some, other ones each time."""
    missing = sorted(told.get("missing_keys", ()))
    if missing:
        raise UsageError(
            f"component '{component}': {place} lacks {len(missing)} of its model's weights, '{missing[0]}' first; they "
            "would be random. Give the whole of a causal language model; copy its files again if some were lost"
        )


def _tokenizer(loader: Any, place: str, options: dict[str, Any]) -> Any:
    """None where the model has none."""
    try:
        return loader.from_pretrained(place, **options)
    except (*_STUMBLES, TypeError, AttributeError):  # whatever it stumbles over where files lack
        return None


_INCIDENTAL: Final = ("_name_or_path", "transformers_version", "dtype")
"""What a configuration says of where and by whom it was written."""


def _digest(model: Any, words: Words) -> bytes:
    said = {key: value for key, value in model.config.to_diff_dict().items() if key not in _INCIDENTAL}
    decisive = (canonical(said), weights_digest(model.state_dict()).encode(), words.digest.encode())
    return sha256(b"\0".join(decisive)).digest()
