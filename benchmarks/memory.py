"""Whether resident memory stays flat while runs are recorded."""

import subprocess
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.measured import Measured, Series

RECORDED: Final = Series(name="stretto_linear4_to_commit", system="stretto", case="sustained", runs=500)
"""After each block its process is looked at."""

RUNS: Final = 50_000
WARM_UP_RUNS: Final = 10_000
"""Caches, free lists and SQLite's pages fill up first; this is not counted as growth."""

PER: Final = 1_000_000
"""Growth is told for this many runs."""


def watch_memory(measured: Measured) -> tuple[float, list[float]]:
    """Megabytes by which a million recorded runs would enlarge the process, and each block's mean time of a run.

    The growth is a robust slope over 50,000 runs, times a million.
    """
    measured.block(WARM_UP_RUNS)
    seen, times = [], []
    for done in range(RECORDED.runs, RUNS + 1, RECORDED.runs):
        times += measured.block(RECORDED.runs)
        seen.append((done, resident_mb(measured.process.pid)))
    return theil_sen(seen) * PER, times


def theil_sen(points: list[tuple[int, float]]) -> float:
    """The median of the slopes between all pairs of points (Sen 1968, JASA 63:1379), which outliers do not move."""
    return median((y2 - y1) / (x2 - x1) for (x1, y1), (x2, y2) in combinations(points, 2))


def resident_mb(pid: int) -> float:
    """Resident memory of a process in megabytes, from the kernel where it tells, else from `ps`."""
    status = Path(f"/proc/{pid}/status")
    if status.is_file():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS:"))
        kib = int(line.split()[1])
    else:
        told = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True)
        kib = int(told.stdout)
    return kib * 1024 / 1e6
