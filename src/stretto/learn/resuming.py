"""Going on with a training that a folder holds, whatever learns in it: how its state is read, and what is refused."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias, TypeVar

import msgspec

from stretto.spec.suggest import nearest
from stretto.types.arguments import check_flag
from stretto.types.errors import StoreError, UsageError
from stretto.types.ids import Digest


class _Progress(Protocol):
    @property
    def format(self) -> str: ...


Progress = TypeVar("Progress", bound=_Progress)

Code: TypeAlias = Mapping[str, Digest]
"""Digests of the Python files that components are made of, by path from the workflow's: of a helper that one calls, its
own digest, which recorded runs are pinned to, tells nothing."""

_FLAG: Final = "--changed-code (changed_code=True)"


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


def other_code(was: Code | None, now: Code | None) -> list[str]:
    """Each file of the components' code that differs, in words; nothing where one of the two did not look."""
    if was is None or now is None:
        return []
    names = [name for name in sorted({**was, **now}) if was.get(name) != now.get(name)]
    return [f"the code in {name} {_what_became(name, was, now)}" for name in names]


def _what_became(name: str, was: Code, now: Code) -> str:
    if name in was and name in now:
        return "is another"
    return "is no longer there, or not imported" if name in was else "is new"


def check_changed_code(changed_code: bool, *, resume: bool) -> None:
    """Raise UsageError for a `changed_code` that is no flag, or that nothing is gone on with."""
    check_flag("changed_code", changed_code)
    if changed_code and not resume:
        raise UsageError(
            "changed_code has no effect without resume: a training that begins holds the code that is there; leave it "
            "out"
        )


def hold_to_same(folder: Path, changed: Sequence[str], code: Sequence[str], *, changed_code: bool) -> None:
    """Raise UsageError for what differs from the training that a folder holds, and for a `changed_code` that nothing
    of its code differs for. With it, other `code` is taken, and what else `changed` is not."""
    if changed_code and not changed:
        if not code:
            raise no_changed_code(folder)
        return
    refused = changed if changed_code else [*changed, *code]
    if refused:
        what = ", ".join(refused)
        raise UsageError(
            f"the training in {folder} cannot be resumed: {what}. {_remedy(changed, code, changed_code=changed_code)}, "
            "or train in another folder"
        )


def goes_on_with(code: Sequence[str], folder: Path, update: int) -> str:
    """That a training goes on with other code than it was made with so far, from an update on."""
    return f"the training in {folder} goes on with changed code from update {update} on: {', '.join(code)}"


def no_changed_code(folder: Path) -> UsageError:
    """That nothing differs of the code that a folder's training holds."""
    return UsageError(f"{_FLAG} has no effect: no code has changed that the training in {folder} holds; leave it out")


def _remedy(changed: Sequence[str], code: Sequence[str], *, changed_code: bool) -> str:
    if changed_code:
        return f"{_FLAG} takes code alone: give the rest as it was"
    if code and changed:
        return f"Give the same, but for the code, which {_FLAG} takes as it is"
    return f"Give the same, go on with the other code by {_FLAG}" if code else "Give the same"
