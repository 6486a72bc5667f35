"""The learning curve of a joint training: a line of JSON for each update, appended."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from stretto.components.whole_file import write_whole
from stretto.learn.joint.report import JointReport
from stretto.types.errors import StoreError

CURVE: Final = "curve.jsonl"


class Curve:
    """Reports, by which a training is told and drawn. What was appended and never made safe may be cut off again."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / CURVE
        self._file: BinaryIO | None = None

    def append(self, report: JointReport) -> None:
        """Add a report. Raises StoreError when the disk refuses."""
        try:
            if self._file is None:
                self._file = self.path.open("ab")
            self._file.write(msgspec.json.encode(report) + b"\n")
        except OSError as error:
            raise StoreError(f"cannot write {self.path}: {error}") from error

    def sync(self) -> None:
        """Return when what was appended survives a power cut."""
        try:
            if self._file is not None:
                self._file.flush()
                os.fsync(self._file.fileno())
        except OSError as error:
            raise StoreError(f"cannot write {self.path}: {error}") from error

    def read(self, most: int | None = None) -> list[JointReport]:
        """Those that are there whole, at most so many. Raises StoreError for a line that is none."""
        try:
            lines = self.path.read_bytes().split(b"\n")[:-1][:most] if self.path.exists() else []
            return [msgspec.json.decode(line, type=JointReport) for line in lines]
        except (OSError, msgspec.MsgspecError) as error:
            raise StoreError(f"{self.path} is no learning curve: {error}. Train in another folder") from error

    def cut(self, reports: int, *, forget_last_evaluation: bool = False) -> Sequence[JointReport]:
        """Drop what comes after so many reports, as a crash leaves it, and an evaluation that a training that goes on
        would not have made; returns what is left."""
        kept = self.read(reports)
        if forget_last_evaluation and kept:
            kept[-1] = msgspec.structs.replace(kept[-1], held_out=None)
        if len(kept) < reports:
            raise StoreError(
                f"{self.path} holds {len(kept)} reports, and the training in its folder has made {reports}; restore "
                "it, or train in another folder"
            )
        write_whole(self.path, b"".join(msgspec.json.encode(report) + b"\n" for report in kept))
        return kept

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
