"""Waiting for a connection over HTTP: which call a request of the SDK's belongs to.

The SDK posts a request in a task of its own, in the context of the task that sent it.
"""

from contextvars import ContextVar
from typing import Final

from stretto.components.waiting import Wait


class Posted:
    """One call of a tool, which the SDK posts once. What it sends about it afterwards is no call."""

    __slots__ = ("_wait",)

    def __init__(self, wait: Wait) -> None:
        self._wait: Wait | None = wait

    def take(self) -> Wait | None:
        """The call's wait, the first time."""
        wait, self._wait = self._wait, None
        return wait


POSTED: Final[ContextVar[Posted | None]] = ContextVar("POSTED", default=None)
"""The call that the task at hand makes."""
