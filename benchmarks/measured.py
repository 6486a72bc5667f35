"""The harness's end of a measured process (`benchmarks.peers.serving` is the other)."""

import json
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks.environment import PYTHON, ROOT

ANSWER_S: Final = 90.0
"""A process that is silent for longer than this is killed; the slowest block takes some 20 s."""

LEAVE_S: Final = 20.0
"""What a process may take to leave by itself."""

OURS: Final = ("plain", "stretto")
"""Measured with the interpreter that runs this; all others with that of the peers' environment."""


class MeasureError(Exception):
    """Something could not be measured; says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One thing that is timed: a case of one system, in blocks of so many runs."""

    name: str
    """Its key under `us`."""
    system: str
    """Module of `benchmarks.peers`."""
    case: str
    runs: int
    """Runs a block."""


@dataclass(slots=True)
class Measured:
    """A running process that serves one series."""

    series: Series
    process: "subprocess.Popen[str]"
    errors: Path
    """Where its stderr goes."""
    durability: str = ""
    versions: dict[str, str] = field(default_factory=dict)

    def greet(self) -> None:
        """Wait until it is ready."""
        hello = self._answer()
        self.durability, self.versions = hello["durability"], hello["versions"]

    def block(self, runs: int) -> list[float]:
        """Have that many runs made; returns their times in microseconds."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(f"{runs}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise self.failed() from None
        times: list[float] = self._answer()
        return times

    def leave(self) -> None:
        """Let it end; raises MeasureError when it fails at that, as a store does that lost something."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        if self.process.wait(LEAVE_S) != 0:
            raise self.failed()

    def failed(self) -> MeasureError:
        """What became of it, in its own last line."""
        lines = self.errors.read_text(encoding="utf-8", errors="replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), "it did not answer in time")
        return MeasureError(f"{self.series.name} failed: {last}")

    def _answer(self) -> Any:  # Any: whatever JSON it says
        assert self.process.stdout is not None
        watchdog = threading.Timer(ANSWER_S, self.process.kill)
        watchdog.start()
        line = self.process.stdout.readline()
        watchdog.cancel()
        if not line:
            self.process.wait()
            raise self.failed()
        return json.loads(line)


@contextmanager
def started(series: Series) -> Iterator[Measured]:
    """Start the process of a series in an empty folder of its own, and end it afterwards.

    Raises MeasureError with its last words when it cannot start, fails or falls silent.
    """
    python = sys.executable if series.system in OURS else str(PYTHON)
    folder = Path(tempfile.mkdtemp(prefix="stretto-bench-"))
    errors = folder / "stderr.txt"
    try:
        with errors.open("w") as file:
            process = subprocess.Popen(
                [python, "-m", f"benchmarks.peers.{series.system}", series.case, str(folder)],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
            )
        with process:
            try:
                measured = Measured(series, process, errors)
                measured.greet()
                yield measured
                measured.leave()
            finally:
                process.kill()
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MeasureError(f"{series.name}: {error}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
