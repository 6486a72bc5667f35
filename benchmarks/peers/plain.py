"""asyncio alone: what the same no-ops cost with no engine round them."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Final

from benchmarks.peers.serving import FANOUT8_ANSWER, START, WAYS, Case, in_memory, one_by_one, serve

STEP_TIMEOUT_S: Final = 5.0
"""Never reached: what is measured is the cost of having a deadline."""

Value = dict[str, int]
Step = Callable[[Value], Coroutine[None, None, Value]]


async def step(given: Value) -> Value:
    return {"value": given["value"] + 1}


async def step_in_time(given: Value) -> Value:
    async with asyncio.timeout(STEP_TIMEOUT_S):
        return await step(given)


async def linear4(call: Step) -> Value:
    """Four steps, of which the third has a condition."""
    found = await call({"value": START})
    found = await call(found)
    if found["value"] > 0:
        found = await call(found)
    return await call(found)


async def fanout8(call: Step) -> Value:
    """Eight steps at once, joined."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(call({"value": START})) for _ in range(WAYS)]
    return {f"s{way}": task.result()["value"] for way, task in enumerate(tasks, start=1)}


def value_of(found: Value) -> int:
    return found["value"]


def total(found: Value) -> int:
    return sum(found.values())


NOTHING: Final = "nothing is kept"

CASES: Final = {
    "bare": Case(open=in_memory(one_by_one(lambda: linear4(step), value_of)), durability=NOTHING),
    "timeout": Case(open=in_memory(one_by_one(lambda: linear4(step_in_time), value_of)), durability=NOTHING),
    "taskgroup8": Case(open=in_memory(one_by_one(lambda: fanout8(step), total, FANOUT8_ANSWER)), durability=NOTHING),
    "taskgroup8_timeout": Case(
        open=in_memory(one_by_one(lambda: fanout8(step_in_time), total, FANOUT8_ANSWER)), durability=NOTHING
    ),
}

if __name__ == "__main__":
    serve(CASES, ())
