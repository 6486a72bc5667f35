"""The folder of a new workflow: made whole, or as if nothing had been begun."""

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from stretto.types.errors import UsageError

Write = Callable[[str, str], None]
"""Writes a text file into the folder, by its name."""

_REMEDIES: Final = {
    errno.ENOSPC: "free some space and try again",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ENOTDIR: "a part of the path is no folder; choose another",
    errno.EEXIST: "that is no folder; choose another",
}
"""What to do about a folder that cannot be made."""


def refuse_folder(folder: Path) -> None:
    """Raise UsageError when a workflow may not be written there: something is, or nobody may look."""
    try:
        for place in (folder, *folder.parents):
            if place.is_symlink() and not place.exists():
                raise UsageError(
                    f"{place} is a link to {os.readlink(place)}, which is not there; make that folder first, "
                    "or choose another name"
                )
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(f"{folder} is there already and not empty; choose another name, or empty it first")
    except OSError as error:
        raise _cannot_be_written(error, folder) from error


@contextmanager
def new_folder(folder: Path) -> Iterator[Write]:
    """Make the folder, with those above it. Whatever stops what is done inside, what was made here and nothing else is
    taken away, so that it can be tried again.

    Raises UsageError when the disk refuses.
    """
    made: list[Path] = []

    def write(name: str, text: str) -> None:
        file = folder / name
        file.touch(exist_ok=False)
        made.append(file)
        file.write_text(text, encoding="utf-8")

    try:
        for place in reversed((folder, *folder.parents)):
            if not place.is_dir():
                place.mkdir()
                made.append(place)
        yield write
    except BaseException as error:
        _take_away(made)
        if isinstance(error, OSError):
            raise _cannot_be_written(error, folder) from error
        raise


def _take_away(made: Sequence[Path]) -> None:
    """Remove what was made, the newest first; a folder in which somebody else has put something stays."""
    for path in reversed(made):
        with suppress(OSError):
            path.rmdir() if path.is_dir() else path.unlink()


def _cannot_be_written(error: OSError, folder: Path) -> UsageError:
    remedy = _REMEDIES.get(error.errno or 0, "choose a folder that this user may write to")
    what = error.filename or folder
    return UsageError(f"{what} cannot be written: {error.strerror}; nothing was made; {remedy}")
