"""What weights mean beside their numbers: a module tells it, its file keeps it, and another module is held to it.

A change of low rank counts alpha / rank, and no tensor has alpha: the same numbers would compute something else. It is
in the file's header, not among the tensors, for what weights are called by, their digest, is pinned by recorded runs.
"""

import json
from collections.abc import Mapping
from pathlib import Path

import msgspec
from torch import nn

from stretto.record.canonical import canonical
from stretto.types.arguments import wrong
from stretto.types.errors import StoreError, UsageError
from stretto.types.json import Json


class _Header(msgspec.Struct):
    learnt_with: dict[str, Json] = msgspec.field(default_factory=dict)


def header_of(module: nn.Module) -> bytes:
    """The header of a file of this module's weights; of most modules ``{}``.

    Raises UsageError where a module tells no names and values, NotJsonError where one is no JSON.
    """
    told = _told_by(module)
    return canonical({"learnt_with": told} if told else {})


def hold_to(header: bytes, module: nn.Module, path: Path, component: str) -> None:
    """Hold a module to what a file's weights were learnt with; one that tells nothing, as older ones, fits all.

    Raises UsageError for what differs, StoreError when the header cannot be read.
    """
    now = _told_by(module)
    was = _read(header, path)
    apart = [name for name in sorted(was) if name not in now or was[name] != now[name]]
    if apart:
        raise UsageError(
            f"checkpoint {path} was learnt with {_said(was, apart)}, and component '{component}' has "
            f"{_said(now, apart)}: the same weights would compute something else. Declare it as it was, or train again"
        )


def _told_by(module: nn.Module) -> dict[str, Json]:
    """What it and the modules inside it say by their own ``learnt_with()``, each under its path."""
    told = {
        f"{path}.{name}" if path else name: value
        for path, each in module.named_modules()
        for name, value in _own(each).items()
    }
    found: dict[str, Json] = msgspec.json.decode(canonical(told))  # as a file gives it back
    return found


def _own(module: nn.Module) -> Mapping[str, Json]:
    tell = getattr(type(module), "learnt_with", None)
    told = tell(module) if callable(tell) else {}
    if not isinstance(told, Mapping):
        kind = type(module).__name__
        raise wrong(f"what `learnt_with` of {kind} tells", told, "a dict of JSON by name, such as {'alpha': 16}")
    return told


def _read(header: bytes, path: Path) -> dict[str, Json]:
    try:
        return msgspec.json.decode(header or b"{}", type=_Header).learnt_with
    except msgspec.MsgspecError as error:
        raise StoreError(
            f"checkpoint {path} does not tell what it was learnt with: its header is damaged ({error}). Copy it again, "
            "or train again"
        ) from error


def _said(told: Mapping[str, Json], names: list[str]) -> str:
    return ", ".join(f"{name} {json.dumps(told[name]) if name in told else 'not set'}" for name in names)
