"""Components that are asked what they are when they are made, side by side: a workflow waits for the slowest of them,
not for each."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeAlias

from stretto.types.protocols import Component

Maker: TypeAlias = Callable[[], Component]

MOST_AT_ONCE: Final = 16
"""Threads that wait for an answer; more servers than that are rare, and wait their turn."""


def made_side_by_side(makers: Sequence[Maker]) -> list[Maker]:
    """For each, in their order, what gives the component that was made, or raises the error."""
    if len(makers) < 2:
        return list(makers)
    with ThreadPoolExecutor(min(len(makers), MOST_AT_ONCE)) as threads:
        making = [threads.submit(make) for make in makers]
    return [each.result for each in making]
