"""`make bench-engine`: what a run costs here and elsewhere.

One run is four async no-op steps, the third with a condition. Two systems at a time take turns, block by block, each
in a process of its own, so that both meet the same weather on the machine; a ratio is the median over the pairs of
blocks of the ratio of their medians. Stdout ends with one line of JSON; progress and a table go to stderr. Exits with
1 when a figure is missing, never because one is bad.
"""

import json
import platform
import sqlite3
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from os import cpu_count
from statistics import median
from typing import Any, Final

from benchmarks.comparisons import COMPARISONS, Comparison
from benchmarks.environment import install_peers
from benchmarks.measured import Measured, MeasureError, started
from benchmarks.memory import RECORDED, RUNS, watch_memory

RSS: Final = "rss_growth_mb"
RSS_AT_MOST_MB: Final = 200

WARM_UP: Final = 4
"""The first, uncounted block is this many times smaller than the others."""

BUDGET_S: Final = 30.0
"""A comparison that lasts longer has no further turns once it has enough, so that all end within six minutes."""

ENOUGH_RUNS: Final = 200
"""The fewest that a median is told of."""


@dataclass(slots=True)
class Findings:
    """What was measured so far."""

    values: dict[str, float] = field(default_factory=dict)
    times_us: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    runs: Counter[str] = field(default_factory=Counter)
    durability: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    """Why a value is missing."""

    def take(self, measured: Measured) -> float:
        """Have a counted block made; returns its median."""
        series = measured.series
        times = measured.block(series.runs)
        self.times_us[series.name] += times
        self.runs[series.name] += series.runs
        return median(times)

    def note(self, measured: Measured) -> None:
        """Keep what a process says of itself."""
        self.durability[measured.series.name] = measured.durability
        self.versions |= measured.versions

    def as_json(self) -> dict[str, Any]:
        keys = [*(each.key for each in COMPARISONS), RSS]
        return {
            **{key: _rounded(self.values[key]) if key in self.values else None for key in keys},
            "us": {name: _rounded(median(times)) for name, times in self.times_us.items()},
            "n": dict(self.runs),
            "durability": self.durability,
            "versions": {
                "python": platform.python_version(),
                "sqlite": sqlite3.sqlite_version,
                **dict(sorted(self.versions.items())),
            },
            "machine": f"{platform.system()} {platform.machine()}, {cpu_count()} CPUs",
            "missing": self.missing,
        }


def compare(comparison: Comparison, findings: Findings) -> float:
    """Let two systems take turns; returns the median ratio of their paired blocks."""
    ratios: list[float] = []
    with started(comparison.above) as above, started(comparison.below) as below:
        for side in (above, below):
            findings.note(side)
            side.block(side.series.runs // WARM_UP)
        start = time.monotonic()
        enough = ENOUGH_RUNS / min(above.series.runs, below.series.runs)
        while len(ratios) < comparison.blocks and (len(ratios) < enough or time.monotonic() - start < BUDGET_S):
            ratios.append(findings.take(above) / findings.take(below))
    return median(ratios)


def measure(findings: Findings) -> None:
    """Measure everything; what cannot be measured is missing, with the reason."""
    for comparison in COMPARISONS:
        try:
            findings.values[comparison.key] = compare(comparison, findings)
        except MeasureError as error:
            findings.missing[comparison.key] = str(error)
        say(line(comparison.key, findings, comparison.at_most, comparison.at_least))
    try:
        with started(RECORDED) as measured:
            findings.note(measured)
            findings.values[RSS], findings.times_us[RECORDED.name] = watch_memory(measured)
        findings.runs[RECORDED.name] = RUNS
    except MeasureError as error:
        findings.missing[RSS] = str(error)
    say(line(RSS, findings, RSS_AT_MOST_MB, None))


def line(key: str, findings: Findings, at_most: float | None, at_least: float | None) -> str:
    """A row of the table: the value, what is aimed at, and whether it is met."""
    if key in findings.missing:
        return f"{key:40} missing: {findings.missing[key]}"
    value = findings.values[key]
    if at_most is not None:
        return f"{key:40} {value:9.2f}   at most {at_most:<5g} {'met' if value <= at_most else 'NOT MET'}"
    if at_least is not None:
        return f"{key:40} {value:9.2f}  at least {at_least:<5g} {'met' if value >= at_least else 'NOT MET'}"
    return f"{key:40} {value:9.2f}"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def main() -> int:
    findings = Findings()
    install_peers(say)
    measure(findings)
    say("\nmicroseconds a run (median)")
    for name, times in findings.times_us.items():
        say(f"{name:40} {median(times):9.1f}  n={findings.runs[name]:<7,} {findings.durability.get(name, '')}")
    print(json.dumps(findings.as_json()))
    return 1 if findings.missing else 0


if __name__ == "__main__":
    sys.exit(main())
