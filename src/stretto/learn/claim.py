"""One training at a time in a folder: two would write over each other's state."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from stretto.types.errors import StoreError, UsageError

LOCK: Final = "training.lock"
"""It stays when the training ends. Whoever removed it could take a lock away that another training just took."""

_TAKEN: Final = (errno.EAGAIN, errno.EACCES)


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Hold the folder, making it if need be. The system gives it back when the process ends, however it ends.

    Raises UsageError when another training holds it, in whatever process; StoreError when the disk refuses.
    """
    path = folder / LOCK
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error}") from error
    try:
        _take(descriptor, path)
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int, path: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _TAKEN:
            raise StoreError(f"{path} cannot be locked: {error.strerror}; train in a folder on another disk") from error
        holder = os.pread(descriptor, 20, 0).decode(errors="replace").strip()
        raise UsageError(
            f"another training is at work in {path.parent}{f', in process {holder}' if holder else ''}; "
            "wait for its end, or train in another folder"
        ) from error
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
