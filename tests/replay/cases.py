"""Stored runs, each in a folder beside the workflow that made it: what was asked, and what a change must lead to."""

import shutil
from pathlib import Path
from typing import Any, Final

import msgspec
from ruamel.yaml import YAML

from stretto.record.model import RunBudget
from stretto.types.json import Json

ROOT: Final = Path(__file__).parent


class Noted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An annotation, but for the run's id and the time."""

    name: str
    value: Any
    path: str = ""
    by: str = ""
    reason: str = ""


class Change(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A replay with outputs given in place of calls, and what it comes to."""

    name: str
    outputs: dict[str, Any]
    dry_run: bool = False
    again: list[str]
    """Paths of the steps downstream: called, and marked as simulated. All others are taken from the record."""
    retried: list[str] = []
    """Paths of steps that did not answer when they were recorded: called as well, and as real as they were."""
    refused: list[str] = []
    """Paths of writes that end the replay."""
    status: str = "ok"
    output: Any


class Wrong(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Outputs that cannot stand, and what is said of them."""

    outputs: dict[str, Any]
    says: str
    before: bool = True
    """Whether they are refused before anything is run; else the replay fails."""


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `case.yaml` holds."""

    about: str
    input: dict[str, Any]
    labels: dict[str, str] = {}
    tenant: str = "default"
    reference: Json = None
    resources: dict[str, Any] = {}
    budget: RunBudget | None = None
    traceparent: str = ""
    baggage: dict[str, str] = {}
    seed: int
    replayed: str = ""
    """Status of a replay without any change, where it cannot be the recorded one."""
    annotations: list[Noted] = []
    changes: list[Change]
    wrong: list[Wrong] = []


def read_case(folder: Path) -> Case:
    """The case of a folder."""
    return msgspec.convert(YAML(typ="safe", pure=True).load(folder / "case.yaml"), Case)


def folders(version: str = "*") -> list[Path]:
    """The folders of all cases, in order."""
    return sorted(path.parent for path in ROOT.glob(f"{version}/*/case.yaml"))


def copied(folder: Path, place: Path) -> Path:
    """A copy of a folder inside `place`, to run in: what components write stays there, and paths are relative to it."""
    return shutil.copytree(folder, place / "case", ignore=shutil.ignore_patterns("__pycache__"))


def recorded_in(folder: Path) -> Path:
    """The export of a folder; its arrays lie in ``run.blobs`` beside."""
    return folder / "run.jsonl"
