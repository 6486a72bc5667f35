"""Everything that is trained for the figures of `examples/risk`, by two processes where the machine has two cores."""

import multiprocessing
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Final

from benchmarks.gradients.risk import ours
from benchmarks.gradients.risk.cards import read, tabulate
from benchmarks.gradients.risk.points import keep
from benchmarks.gradients.risk.ppo import RATES, RUNS, ppo_curve
from benchmarks.gradients.risk.summary import Measurements, summed_up
from benchmarks.gradients.risk.trees import trees

SEEDS: Final = range(5)

WORKERS: Final = min(2, os.cpu_count() or 1)


def risk_figures(
    table: Path, folder: Path, *, runs: int = RUNS, seeds: Sequence[int] = SEEDS, workers: int = WORKERS
) -> dict[str, Any]:
    """Measure, keep the curves in a folder, and sum up."""
    found = measure(table, runs, seeds, workers)
    keep([*found.ours, *found.with_person, *found.trees, *(p for curve in found.ppo for p in curve)], folder)
    return summed_up(found)


def measure(table: Path, runs: int, seeds: Sequence[int], workers: int) -> Measurements:
    """Train everything, the longest first."""
    rows = read(table)
    cards = tabulate(rows)
    told = f"{len(rows):,} card holders, and what the rules make of three decisions about each"
    print(f"  {told}", file=sys.stderr, flush=True)
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        our = pool.submit(ours.curve, rows, cards, seeds)
        ppo = [pool.submit(ppo_curve, cards, rate, seed, runs) for seed in seeds for rate in RATES]
        person = pool.submit(ours.with_person, rows, cards, seeds)
        boosted = pool.submit(trees, cards, seeds)
        return Measurements(
            ours=our.result(),
            with_person=person.result(),
            trees=boosted.result(),
            ppo=[each.result() for each in ppo],
        )
