"""What a client does while it waits: whether its body comes in time, and whether it hung up."""

import asyncio
from typing import Final

from stretto.acp.failure import AcpError
from stretto.acp.names import Reason
from stretto.acp.server.refusal import refusal
from stretto.serve.acp_body import Receive
from stretto.types.errors import Code

_AFTER_S: Final = 0.02
"""Most calls have ended by then, and have cost one timer."""


class Watch:
    """Cancels the task that makes it when the body does not come in time, or the client hangs up afterwards.

    `end` must be called when the answer is there.
    """

    __slots__ = (
        *("_body_s", "_is_reading", "_is_slow", "_loop", "_receive", "_task", "_timer", "_watching"),
        *("hung_up", "is_late"),
    )

    def __init__(self, receive: Receive, body_s: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self._receive = receive
        self._body_s = body_s
        self._is_reading = True
        self._is_slow = False
        self._watching: asyncio.Task[None] | None = None
        self._timer = self._loop.call_later(_AFTER_S, self._look)
        self.hung_up = False
        self.is_late = False
        """The body did not come in time."""

    def body_came(self) -> None:
        """From now on the client is waiting."""
        self._is_reading = False
        if self._is_slow:
            self._timer.cancel()
            self._begin_watching()

    def end(self) -> None:
        """There is nothing to be cancelled any more."""
        self._timer.cancel()
        if self._watching is not None:
            self._watching.cancel()

    def too_late(self) -> AcpError:
        """The refusal of a body that is late; the cancellation that it came to is taken back."""
        if self._task is not None:
            self._task.uncancel()
        message = f"the body did not come within {self._body_s:g} s"
        return refusal(Code.DEADLINE_EXCEEDED, Reason.DEADLINE_PASSED, message)

    def _look(self) -> None:
        """The first time that anything is looked at."""
        if self._is_reading:
            self._is_slow = True
            self._timer = self._loop.call_later(self._body_s - _AFTER_S, self._body_late)
        else:
            self._begin_watching()

    def _body_late(self) -> None:
        self.is_late = True
        self._cancel()

    def _begin_watching(self) -> None:
        self._watching = self._loop.create_task(self._watch())

    async def _watch(self) -> None:
        if (await self._receive())["type"] == "http.disconnect":  # after the body nothing else comes (ASGI, HTTP)
            self.hung_up = True
            self._cancel()

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
