"""A retry of tenacity around a breaker of pybreaker, with a time-out of asyncio: the same protection by hand."""

import asyncio
from typing import Final

from pybreaker import CircuitBreaker
from tenacity import retry, stop_after_attempt, wait_random_exponential

from benchmarks.peers.serving import START, Case, in_memory, one_by_one, serve

Value = dict[str, int]

BREAKER: Final = CircuitBreaker(fail_max=5, reset_timeout=5)


async def step(given: Value) -> Value:
    return {"value": given["value"] + 1}


@retry(stop=stop_after_attempt(3), wait=wait_random_exponential(multiplier=0.1, max=10), reraise=True)  # type: ignore[untyped-decorator]  # only the peers' environment has its types
async def protected(given: Value) -> Value:
    with BREAKER.calling():
        async with asyncio.timeout(5):
            return await step(given)


def value_of(found: Value) -> int:
    return found["value"]


NOTHING: Final = "nothing is kept"

CASES: Final = {
    "bare": Case(open=in_memory(one_by_one(lambda: step({"value": START}), value_of, START + 1)), durability=NOTHING),
    "protected": Case(
        open=in_memory(one_by_one(lambda: protected({"value": START}), value_of, START + 1)), durability=NOTHING
    ),
}

if __name__ == "__main__":
    serve(CASES, ("tenacity", "pybreaker"))
