"""Going on with a training that a folder holds, whatever learns in it: how its state is read, and what is refused."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

import msgspec

from stretto.spec.suggest import nearest
from stretto.types.errors import StoreError, UsageError
from stretto.types.ids import Digest


class _Progress(Protocol):
    @property
    def format(self) -> str: ...


Progress = TypeVar("Progress", bound=_Progress)

Code: TypeAlias = Mapping[str, Digest]
"""Digests of the Python files that components are made of, by path from the workflow's: of a helper that one calls, its
own digest, which recorded runs are pinned to, tells nothing."""


def read_progress(path: Path, header: bytes, kind: type[Progress], what: str, form: str) -> Progress:
    """How far a training is, from its state's header. Raises StoreError when that is no such state, of this form."""
    try:
        progress = msgspec.json.decode(header, type=kind)
    except msgspec.MsgspecError as error:
        raise StoreError(f"{path} is not the state of {what} ({form}): {error}. Train in another folder") from error
    if progress.format != form:
        raise StoreError(f"{path} has the format {progress.format!r}, this release reads {form!r}")
    return progress


def nothing_held(folder: Path, mark: str) -> UsageError:
    """That a folder holds no training, with one beside it that does: there `mark` is."""
    near = nearest(folder.name, [path.parent.name for path in sorted(folder.parent.glob(f"*/{mark}"))])
    hint = f"did you mean {folder.with_name(near)}?" if near else "leave out `resume` to begin one there"
    return UsageError(f"{folder} holds no training to go on with; {hint}")


def held_already(folder: Path, updates: int) -> UsageError:
    """That a folder holds a training, which another, begun anew, would overwrite."""
    return UsageError(
        f"{folder} holds a training already, {updates} update{'' if updates == 1 else 's'} long; go on with it "
        "(resume=True), or train in another folder"
    )


def changed_options(was: Mapping[str, Any], now: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Each option that differs, in words; one that is absent is not set."""
    changed = [name for name in names if was.get(name) != now.get(name)]
    return [f"{name} was {_told(was, name)} and is now {_told(now, name)}" for name in changed]


def _told(options: Mapping[str, Any], name: str) -> str:
    return json.dumps(options[name]).strip('"') if name in options else "not set"


def changed_code(was: Code | None, now: Code | None) -> list[str]:
    """Each file of the components' code that differs, in words; nothing where one of the two did not look."""
    if was is None or now is None:
        return []
    names = [name for name in sorted({**was, **now}) if was.get(name) != now.get(name)]
    return [f"the code in {name} {_what_became(name, was, now)}" for name in names]


def _what_became(name: str, was: Code, now: Code) -> str:
    if name in was and name in now:
        return "is another"
    return "is no longer there, or not imported" if name in was else "is new"


def hold_to_same(folder: Path, changed: Sequence[str]) -> None:
    """Raise UsageError for what differs from the training that a folder holds."""
    if changed:
        raise UsageError(
            f"the training in {folder} cannot be resumed: {', '.join(changed)}. Give the same, or train in another "
            "folder"
        )
