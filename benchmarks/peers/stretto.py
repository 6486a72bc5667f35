"""Stretto itself, under the same protocol as its peers.

Every run is recorded in full in SQLite, with a deadline for the run and a timeout for each step. Under ``none`` the
sealed run is written behind by another thread; under ``step`` acceptance is committed before the run starts, steps are
written behind, and the sealed run is committed before the caller has its answer (WAL, `synchronous=NORMAL`: survives
a killed process). Where runs are made at once, the clock stops when all of them are committed.
"""

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import stretto
from benchmarks.peers.serving import (
    FANOUT8_ANSWER,
    LINEAR4_ANSWER,
    START,
    Block,
    Case,
    Opening,
    check,
    one_by_one,
    serve,
)
from stretto.record.model import decoded

WORKFLOWS: Final = Path(__file__).parent.parent / "workflows"
WRITTEN_BEHIND: Final = "durability: none"
"""The line of a workflow file that is replaced where another durability is measured."""

Make = Callable[[stretto.Workflow], Block]


def opening(name: str, durability: str, make: Make) -> Opening:
    """Load a workflow under a durability, with its store in the folder; nothing may be lost by the end."""

    @asynccontextmanager
    async def opened(folder: Path) -> AsyncIterator[Block]:
        text = (WORKFLOWS / f"{name}.yaml").read_text(encoding="utf-8")
        path = folder / f"{name}.yaml"
        path.write_text(text.replace(WRITTEN_BEHIND, f"durability: {durability}"), encoding="utf-8")
        shutil.copy(WORKFLOWS / "components.py", folder)
        with stretto.Store(folder / "runs.db") as store:
            async with stretto.load(path, store=store) as workflow:
                yield make(workflow)
            check(store.lost, 0)

    return opened


def in_turn(answer: Callable[[stretto.Run], object], expected: int) -> Make:
    """Runs after one another; what was written behind is committed before the block ends, after its last run."""

    def make(workflow: stretto.Workflow) -> Block:
        timed = one_by_one(lambda: workflow.run({"value": START}), answer, expected)

        async def block(runs: int) -> list[float]:
            times = await timed(runs)
            await asyncio.to_thread(workflow.store.flush)
            return times

        return block

    return make


def sustained(workflow: stretto.Workflow) -> Block:
    """Runs after one another; the mean, up to the commit of the last."""

    async def block(runs: int) -> list[float]:
        start = time.perf_counter_ns()
        for _ in range(runs):
            await workflow.run({"value": START})
        return [await _committed(workflow, start, runs)]

    return block


def at_once(together: int) -> Make:
    """Runs in waves of so many together, each wave up to the commit of its last run."""

    def make(workflow: stretto.Workflow) -> Block:
        async def wave() -> float:
            start = time.perf_counter_ns()
            done = await workflow.run_many([{"value": START}] * together, concurrency=together)
            mean_us = await _committed(workflow, start, together)
            for run in done:
                check(value_of(run), LINEAR4_ANSWER)
            return mean_us

        async def block(runs: int) -> list[float]:
            return [await wave() for _ in range(max(1, runs // together))]

        return block

    return make


async def _committed(workflow: stretto.Workflow, start_ns: int, runs: int) -> float:
    """Microseconds a run since the start, once all is committed."""
    await asyncio.to_thread(workflow.store.flush)
    return (time.perf_counter_ns() - start_ns) / 1e3 / runs


def value_of(run: stretto.Run) -> object:
    return decoded(run.output)["value"]


def total(run: stretto.Run) -> object:
    return sum(decoded(run.output).values())


BEHIND: Final = "the whole record, written behind; SQLite WAL, synchronous=NORMAL"
COMMITTED: Final = "acceptance and the sealed run committed, steps written behind; SQLite WAL, synchronous=NORMAL"

CASES: Final = {
    "linear4": Case(open=opening("linear4", "none", in_turn(value_of, LINEAR4_ANSWER)), durability=BEHIND),
    "one": Case(open=opening("one", "none", in_turn(value_of, START + 1)), durability=BEHIND),
    "one_protected": Case(open=opening("one_protected", "none", in_turn(value_of, START + 1)), durability=BEHIND),
    "one_standby": Case(open=opening("one_standby", "none", in_turn(value_of, START + 1)), durability=BEHIND),
    "one_fallback": Case(open=opening("one_fallback", "none", in_turn(value_of, START + 1)), durability=BEHIND),
    "sustained": Case(open=opening("linear4", "none", sustained), durability=BEHIND),
    "concurrent": Case(open=opening("linear4", "none", at_once(1_000)), durability=BEHIND),
    "fanout8": Case(open=opening("fanout8", "none", in_turn(total, FANOUT8_ANSWER)), durability=BEHIND),
    "step": Case(open=opening("linear4", "step", in_turn(value_of, LINEAR4_ANSWER)), durability=COMMITTED),
    "step_concurrent": Case(open=opening("linear4", "step", at_once(100)), durability=COMMITTED),
}

if __name__ == "__main__":
    serve(CASES, ("stretto",))
