"""Connections of this process to store files. While one lives, nobody here may open and close its file otherwise.

POSIX drops every lock that a process has on a file when it closes any descriptor of it, whichever took the lock
(https://sqlite.org/howtocorrupt.html, section 2.2). Other processes do not see a connection that lost its lock so: the
last of them to close deletes the log beside the file, and what is committed to that afterwards is lost.
"""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from weakref import WeakSet

_LIVING: Final[dict[tuple[int, int], "WeakSet[_Living]"]] = {}
"""By device and number of the file."""

_LOCK: Final = threading.Lock()


class _Mine(threading.local):
    left: list[Callable[[], None]] | None = None
    """What this thread is to do when it has opened what it is opening; None while it opens nothing."""


_MINE: Final = _Mine()


def once_opened(work: Callable[[], None]) -> None:
    """Do work that may wait for another thread: at once, but not while this one opens a file, which the other may wait
    for in its turn. A garbage collection there can close a store whose writer is about to open its own."""
    if _MINE.left is None:
        work()
    else:
        _MINE.left.append(work)


@contextmanager
def _opening() -> Iterator[None]:
    """One thread at a time."""
    left = _MINE.left = []  # before the lock is held, and until it is not: a collection may come at any moment
    try:
        with _LOCK:
            yield
    finally:
        _MINE.left = None
        for work in left:
            work()


class _Living(sqlite3.Connection):
    """A connection that is known until it is closed, or let go of."""

    def close(self) -> None:
        """Without the lock, which another thread may hold for long. One that is closed and not taken off yet keeps the
        file from being opened for a moment, which is no harm."""
        super().close()
        for connections in tuple(_LIVING.values()):
            connections.discard(self)


def identity(path: Path) -> tuple[int, int]:
    """Which file stands at a path, by device and number; zeros when there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0
    return found.st_dev, found.st_ino


def living(path: Path, uri: str = "", **options: Any) -> sqlite3.Connection:  # Any: as sqlite3.connect takes them
    """A connection to the file, by a URI if there is one."""
    with _opening():
        connection = sqlite3.connect(uri or path, uri=bool(uri), factory=_Living, **options)
        _LIVING.setdefault(identity(path), WeakSet()).add(connection)
    return connection


@contextmanager
def none_living(path: Path) -> Iterator[bool]:
    """Whether no connection to the file lives; if so, none is made meanwhile, and the file may be opened."""
    with _opening():
        for file in [file for file, connections in _LIVING.items() if not connections]:
            del _LIVING[file]
        yield identity(path) not in _LIVING
