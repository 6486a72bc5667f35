"""What a call that was cancelled had waited for: the cause of its CancelledError, not its class, by which
`asyncio.timeout` and task groups know a cancellation."""

import asyncio


class Waited(Exception):  # noqa: N818  # no error: what a cancellation found
    """It had waited in a queue that its component keeps, and then was worked on."""

    def __init__(self, queue_ms: float) -> None:
        super().__init__(f"it had waited for {queue_ms:.3g} ms")
        self.queue_ms = queue_ms


class NeverBegun(Waited):
    """It was in that queue still, and nothing of it was done."""

    def __init__(self, queue_ms: float, *, awaited: str, remedy: str) -> None:
        super().__init__(queue_ms)
        self.awaited = awaited
        """What it waited for: ``a thread``."""
        self.remedy = remedy
        """Why none came, and what to do about it."""


def forget_wait(cancelled: asyncio.CancelledError) -> None:
    """Of a cancellation that comes out of a call inside: the component around it was asked, whatever the other had
    waited for. A write would be taken for never sent, and be made twice."""
    if isinstance(cancelled.__cause__, Waited):
        cancelled.__cause__ = None
