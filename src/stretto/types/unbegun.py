"""The cancellation of work that had not begun."""

import asyncio


class NeverBegun(asyncio.CancelledError):
    """Raised in place of the CancelledError that found a call still in a queue: nothing of it was done."""

    def __init__(self, waited_s: float) -> None:
        super().__init__()
        self.waited_s = waited_s
