"""Runs that were judged and wait for the update that learns from them, on disk: who took a signal keeps its word."""

import os
from pathlib import Path
from typing import Final

import msgspec

from stretto.learn.usable import Recorded
from stretto.record.codec import decode_run, encode_run
from stretto.types.errors import StoreError

FILE: Final = "judged.jsonl"


class _Head(msgspec.Struct, frozen=True, kw_only=True):
    """The first line."""

    update: int
    """That learns from the first runs in the file; those behind came while it did."""


class JudgedRuns:
    """The runs that wait, in the folder of a training; of one event loop."""

    def __init__(self, folder: Path, made: int, an_update: int) -> None:
        """Take up those that wait after so many updates of `an_update` runs each: an update whose weights were kept has
        learnt from its runs, whether or not they were taken out before the process ended.

        Raises StoreError where the disk refuses, or a line is no run; a last one that is not whole was not taken.
        """
        self._file = folder / FILE
        self._an_update = an_update
        head, runs = self._read()
        self.runs = runs[an_update:] if head is not None and head.update <= made else runs
        self._write(made + 1)

    @property
    def batch(self) -> list[Recorded]:
        """Those of one update; none while they are too few."""
        return self.runs[: self._an_update] if len(self.runs) >= self._an_update else []

    def add(self, judged: Recorded) -> None:
        """Keep one more. Raises StoreError where the disk refuses: it does not wait then."""
        try:
            with self._file.open("ab") as file:
                file.write(_line(judged))
        except OSError as error:
            raise self._refused(error) from error
        self.runs.append(judged)

    def take_out(self, batch: list[Recorded], made: int) -> None:
        """Let those of an update go, after so many updates. Raises StoreError where the disk refuses; they are gone
        nevertheless."""
        self.runs = self.runs[len(batch) :]
        self._write(made + 1)

    def _read(self) -> tuple[_Head | None, list[Recorded]]:
        try:
            text = self._file.read_bytes() if self._file.exists() else b""
        except OSError as error:
            raise self._refused(error) from error
        first, *lines = text.rpartition(b"\n")[0].splitlines() or [b""]
        try:
            head = msgspec.json.decode(first, type=_Head) if first else None
            return head, [Recorded(run=decode_run(line)) for line in lines]
        except (msgspec.MsgspecError, StoreError) as error:
            remedy = "Remove it; the runs that waited in it are not learnt from"
            raise StoreError(f"{self._file} is damaged: {error}. {remedy}") from error

    def _write(self, update: int) -> None:
        """All of it, whole or not at all."""
        fresh = self._file.with_suffix(".new")
        try:
            fresh.write_bytes(msgspec.json.encode(_Head(update=update)) + b"\n" + b"".join(map(_line, self.runs)))
            os.replace(fresh, self._file)
        except OSError as error:
            raise self._refused(error) from error

    def _refused(self, error: OSError) -> StoreError:
        return StoreError(f"cannot read or write {self._file}: {error}")


def _line(judged: Recorded) -> bytes:
    return encode_run(judged.run) + b"\n"
