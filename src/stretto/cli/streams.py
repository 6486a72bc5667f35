"""The process's own streams as they may come: closed, on a full disk, in an encoding that lacks characters, used by
components as if they were theirs."""

import os
import sys
from io import BufferedWriter, FileIO, RawIOBase, TextIOWrapper
from typing import TYPE_CHECKING, BinaryIO, Final, cast

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_STDIN: Final = 0
_STDOUT: Final = 1
_STDERR: Final = 2


class ResultLostError(Exception):
    """The result cannot be written to stdout; says why."""


class _Results(FileIO):
    """Stdout: tells what is lost there from every other failure of a file."""

    def close(self) -> None:
        """Stay open."""

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise ResultLostError(error.strerror) from error


class _Notes(FileIO):
    """Stderr: what is said beside the result is lost without a word, and changes nothing of what the command does."""

    def close(self) -> None:
        """Stay open."""

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


class _Buffer(BufferedWriter):
    """Bytes of a stream that outlives whoever closes it: components write to these streams too, some close them when
    they are done, and a text stream that one puts over these bytes closes them when it is collected."""

    def close(self) -> None:
        """Write what is held, and stay open."""
        self.flush()

    def detach(self) -> RawIOBase:
        """What is below, which stays below as well."""
        self.flush()
        return cast("RawIOBase", self.raw)  # typeshed has a protocol of its own for it


class _Stream(TextIOWrapper):
    """A text stream that outlives whoever closes it."""

    def close(self) -> None:
        """Write what is held, and stay open."""
        self.flush()

    def detach(self) -> BinaryIO:
        """What is below, which stays below as well."""
        self.flush()
        return cast("BinaryIO", self.buffer)  # typeshed has a protocol of its own for it


def take_streams() -> None:
    """Make stdin, stdout and stderr usable however the process was started."""
    _fill_closed()
    sys.stdout = _guarded(_Results(_STDOUT, "w", closefd=False), sys.stdout)
    sys.stderr = _guarded(_Notes(_STDERR, "w", closefd=False), sys.stderr)


def silence_stdout() -> None:
    """Let go of what stdout cannot take; Python would complain of it at exit."""
    _to_nowhere(_STDOUT)


def _fill_closed() -> None:
    """Point closed streams at nothing: else the next file that is opened gets their number, and what is printed."""
    for number in (_STDIN, _STDOUT, _STDERR):
        try:
            os.fstat(number)
        except OSError:
            _to_nowhere(number)


def _to_nowhere(number: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    if nowhere != number:
        os.dup2(nowhere, number)
        os.close(nowhere)


def _guarded(raw: FileIO, like: object) -> TextIOWrapper:
    """A text stream over `raw`, set up as Python set up `like`; what its encoding lacks is shown as an escape."""
    encoding, each_line, at_once = "utf-8", False, False
    if isinstance(like, TextIOWrapper):
        encoding, each_line, at_once = like.encoding, like.line_buffering, like.write_through
    below = raw if at_once else _Buffer(raw)  # as Python does under PYTHONUNBUFFERED
    return _Stream(below, encoding, "backslashreplace", line_buffering=each_line, write_through=at_once)
