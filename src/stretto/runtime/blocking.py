"""The thin sync face: async work done to its end from code that is not async."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from stretto.types.errors import UsageError

T = TypeVar("T")


class OwnLoop:
    """One event loop for many calls, so that what one of them opened serves the next."""

    def __init__(self) -> None:
        self._runner: asyncio.Runner | None = None

    def run(self, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run what `start` makes to its end. Raises UsageError inside a running event loop."""
        if _in_event_loop():
            raise UsageError("an event loop is running here: use `await workflow.run(...)`")
        if self._runner is None:
            self._runner = asyncio.Runner()
        return self._runner.run(start())

    def close(self) -> None:
        """End the loop; the next call begins another."""
        if self._runner is not None:
            self._runner.close()
            self._runner = None


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
