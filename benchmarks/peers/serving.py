"""A measured process: it makes blocks of runs on demand and answers with their times.

Uses the standard library only, since every peer imports it in the peers' own environment. Started as
``python -m benchmarks.peers.NAME CASE FOLDER``; then each line on stdin is a number of runs, and each line on stdout
the times of that block as JSON. Stdout belongs to this protocol: whatever a peer prints goes to stderr.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, TypeAlias

START: Final = 1
"""What every run is given; each of the four steps adds one."""

LINEAR4_ANSWER: Final = START + 4

WAYS: Final = 8
"""How many steps the fan-out has."""

FANOUT8_ANSWER: Final = WAYS * (START + 1)
"""The sum of what its steps answer."""

Block: TypeAlias = Callable[[int], Awaitable[list[float]]]
"""Makes that many runs; returns microseconds: one figure a run, or the mean of all that ran at once."""

Opening: TypeAlias = Callable[[Path], AbstractAsyncContextManager[Block]]
"""Sets a system up in an empty folder, and takes it down after the last block."""

Runs: TypeAlias = Callable[[], Awaitable[Any]]  # Any: each system answers with a type of its own
Answer: TypeAlias = Callable[[Any], object]
"""Takes from what a run returned the number that it computed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One way of running the workload."""

    open: Opening
    durability: str
    """What of a run survives, in words."""


def one_by_one(run: Runs, answer: Answer, expected: int = LINEAR4_ANSWER) -> Block:
    """Runs after one another, each timed; the last one's answer is checked."""

    async def block(runs: int) -> list[float]:
        clock = time.perf_counter_ns
        times = []
        result = None
        for _ in range(runs):
            start = clock()
            result = await run()
            times.append((clock() - start) / 1e3)
        check(answer(result), expected)
        return times

    return block


def at_once(run: Runs, answer: Answer, expected: int = LINEAR4_ANSWER) -> Block:
    """All runs of the block together; every answer is checked after the clock has stopped."""

    async def block(runs: int) -> list[float]:
        start = time.perf_counter_ns()
        results = await asyncio.gather(*(run() for _ in range(runs)))
        elapsed_us = (time.perf_counter_ns() - start) / 1e3
        for result in results:
            check(answer(result), expected)
        return [elapsed_us / runs]

    return block


def in_memory(block: Block) -> Opening:
    """The opening of a system that needs none."""

    @asynccontextmanager
    async def opened(_: Path) -> AsyncIterator[Block]:
        yield block

    return opened


def check(found: object, expected: int) -> None:
    """Refuse to time a system that computes something else."""
    if found != expected:
        raise RuntimeError(f"the workload answered {found!r}; it must answer {expected}")


def serve(cases: Mapping[str, Case], distributions: Sequence[str]) -> None:
    """Serve the case that the command line names until stdin ends."""
    name, folder = sys.argv[1:]
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    versions = {distribution: version(distribution) for distribution in distributions}
    case = cases[name]

    def say(message: object) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    async def serve_blocks() -> None:
        async with case.open(Path(folder)) as block:
            say({"durability": case.durability, "versions": versions})
            while line := await asyncio.to_thread(sys.stdin.readline):
                say(await block(int(line)))

    asyncio.run(serve_blocks())
