"""`make bench-resilience`: does a run answer when what it calls does not, and what does that cost when all is well?

Stdout ends with one line of JSON; progress and a table go to stderr. Exits with 1 when a figure is missing, never
because one is bad.

- `amplification`: a store is down that three workflows, one inside the other, call with three attempts; calls of the
  store for each run. `amplification_naive`: the same with a loop of three attempts in each of three layers.
- `answered_half_failing`, `answered_all_failing`: part of the runs that answered within their deadline.
- `goodput_at_2x`: answers in time a second at twice the capacity of a backend behind a socket, as part of the best at
  any load; `goodput_at_2x_without` is the same without a bulkhead. `p99_over_deadline`: of the runs at twice the
  capacity, with a bulkhead.
- `healthy_overhead_us`: what time-out, retry, breaker, bulkhead and fallback add to a call that answers;
  `tenacity_pybreaker_us`: what a retry of tenacity, a breaker of pybreaker and a time-out of asyncio add to one.
- `align_*`: the learned aligner on BANKING77's test split and CLINC150's out-of-scope utterances (`alignment`); missing
  where the data are not.
- `chaos_*`, `contract_mutation_score`: faults at every component of a workflow with fallbacks (`chaos`).
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Final, TypeAlias

import stretto
from benchmarks.alignment import align_figures
from benchmarks.backend import CAPACITY
from benchmarks.chaos import chaos
from benchmarks.environment import ROOT, install_peers
from benchmarks.measured import MeasureError, Series, started

WORKFLOWS: Final = ROOT / "benchmarks" / "workflows"

LOADS: Final = (0.8, 1.0, 1.2, 2.0)
"""Runs begun a second, as parts of the capacity."""

LOAD_S: Final = 5.0

Say: TypeAlias = Callable[[str], None]

Tell: TypeAlias = Callable[[str, float], None]
"""Takes a figure by its key."""

ALIGNED: Final = (
    "align_accuracy_forced",
    "align_error_at_default",
    "align_coverage_at_default",
    "align_oos_refused",
    "align_us",
)

ANSWERED: Final = frozenset({stretto.RunStatus.OK, stretto.RunStatus.DEGRADED})

TARGETS: Final = {
    "amplification": ("at most", 1.25),
    "answered_half_failing": ("at least", 0.999),
    "answered_all_failing": ("at least", 1.0),
    "goodput_at_2x": ("at least", 0.9),
    "p99_over_deadline": ("at most", 1.0),
    "healthy_overhead_us": ("at most", 15.0),
    "align_accuracy_forced": ("at least", 0.89),
    "align_error_at_default": ("at most", 0.01),
    "align_coverage_at_default": ("at least", 0.6),
    "align_oos_refused": ("at least", 0.97),
    "align_us": ("at most", 3_000.0),
    "chaos_duplicated_effects": ("at most", 0.0),
    "chaos_answered": ("at least", 0.999),
}


async def amplification(folder: Path, runs: int = 1_000) -> float:
    """Calls of the store for each run."""
    async with stretto.load(WORKFLOWS / "chain.yaml", store=folder / "chain.db") as workflow:
        await workflow.run_many([{}] * runs, concurrency=16)
        return workflow.protections["store"].attempts / runs


def amplification_naive(layers: int = 3, attempts: int = 3) -> float:
    """The same when each layer tries as often."""
    calls = 0

    def ask(layer: int) -> None:
        nonlocal calls
        for attempt in range(1, attempts + 1):
            try:
                if layer == 0:
                    calls += 1
                    raise ConnectionError("the store is down")
                ask(layer - 1)
            except ConnectionError:
                if attempt == attempts:
                    raise

    try:
        ask(layers - 1)
    except ConnectionError:
        return float(calls)
    raise RuntimeError("the store answered")


async def answered(folder: Path, fails: float, runs: int) -> float:
    """Part of the runs that answered in time, when that part of the calls fails."""
    async with stretto.load(WORKFLOWS / "flaky.yaml", store=folder / f"flaky-{fails}.db") as workflow:
        in_time_ms = deadline_s(workflow) * 1e3
        made = await workflow.run_many([{"fails": fails}] * runs, concurrency=64)
    return sum(run.status in ANSWERED and run.duration_ms <= in_time_ms for run in made) / runs


async def goodput(folder: Path, name: str, load: float) -> tuple[float, float]:
    """Answers in time a second at a load, and the p99 of the runs as part of their deadline."""
    with backend() as address:
        os.environ["STRETTO_BENCH_BACKEND"] = address
        async with stretto.load(WORKFLOWS / f"{name}.yaml", store=folder / f"{name}-{load}.db") as workflow:
            in_time_s = deadline_s(workflow)
            took: list[float] = []

            async def once() -> bool:
                start = time.perf_counter()
                run = await workflow.run({})
                took.append(time.perf_counter() - start)
                return run.status is stretto.RunStatus.OK and took[-1] <= in_time_s

            begun: list[asyncio.Task[bool]] = []
            start = time.perf_counter()
            while (passed := time.perf_counter() - start) < LOAD_S:
                while len(begun) < passed * load * CAPACITY:
                    begun.append(asyncio.create_task(once()))
                await asyncio.sleep(0.001)
            good = sum(await asyncio.gather(*begun))
    return good / LOAD_S, sorted(took)[int(0.99 * len(took))] / in_time_s


def deadline_s(workflow: stretto.Workflow) -> float:
    """The deadline that a workflow declares, seconds."""
    deadline = workflow.plan.budget.deadline
    if deadline is None:
        raise RuntimeError(f"workflow '{workflow.name}' has no deadline")
    return deadline.total_seconds()


@contextmanager
def backend() -> Iterator[str]:
    """A backend of its own, with an empty queue; yields its address."""
    command = [sys.executable, "-m", "benchmarks.backend"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def added_us(protected: Series, bare: Series, blocks: int = 8) -> float:
    """Microseconds that a protection adds to a call: the median over paired blocks."""
    with started(protected) as above, started(bare) as below:
        for side in (above, below):
            side.block(side.series.runs // 4)
        return median([median(above.block(protected.runs)) - median(below.block(bare.runs)) for _ in range(blocks)])


def line(key: str, value: float) -> str:
    """A row of the table: the value, what is aimed at, and whether it is met."""
    how, target = TARGETS.get(key, ("", 0.0))
    met = value <= target if how == "at most" else value >= target
    return f"{key:26} {value:9g}" + (f"   {how} {target:g}   {'met' if met else 'NOT MET'}" if how else "")


async def measure(folder: Path, tell: Tell, say: Say) -> None:
    """Everything that needs no peer."""
    tell("amplification", await amplification(folder))
    tell("amplification_naive", amplification_naive())
    tell("answered_half_failing", await answered(folder, 0.5, 10_000))
    tell("answered_all_failing", await answered(folder, 1.0, 2_000))
    measured = {
        name: {load: await goodput(folder, name, load) for load in LOADS} for name in ("called_protected", "called")
    }
    best = max(good for loads in measured.values() for good, _ in loads.values())
    say(f"backend: capacity {CAPACITY:g} a second, best goodput {best:g}; by load:")
    for name, loads in measured.items():
        say(f"  {name:20} " + ", ".join(f"{load:g}x {good:g}" for load, (good, _) in loads.items()))
    tell("goodput_at_2x", measured["called_protected"][2.0][0] / best)
    tell("goodput_at_2x_without", measured["called"][2.0][0] / best)
    tell("p99_over_deadline", measured["called_protected"][2.0][1])


def main() -> int:
    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    found: dict[str, float] = {}

    def tell(key: str, value: float) -> None:
        found[key] = float(f"{value:.4g}")
        say(line(key, found[key]))

    install_peers(say)
    with tempfile.TemporaryDirectory(prefix="stretto-bench-") as folder:
        asyncio.run(measure(Path(folder), tell, say))
        for key, value in chaos(Path(folder)).items():
            tell(key, value)
    missing: dict[str, str] = {}
    aligned = align_figures()
    for key in ALIGNED:
        if key in aligned:
            tell(key, aligned[key])
        else:
            missing[key] = "the texts to align are not here"
    pairs = {
        "healthy_overhead_us": ("stretto", "one_protected", "one"),
        "tenacity_pybreaker_us": ("tenacity", "protected", "bare"),
    }
    for key, (system, protected, bare) in pairs.items():
        above, below = (Series(name=case, system=system, case=case, runs=2_000) for case in (protected, bare))
        try:
            tell(key, added_us(above, below))
        except MeasureError as error:
            missing[key] = str(error)
            say(f"{key:26} missing: {error}")
    print(json.dumps({**found, "missing": missing}))
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
