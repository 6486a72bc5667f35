"""Why a cancellation did no harm: the work had not begun."""


class NeverBegun(Exception):  # noqa: N818  # no error: what a cancellation found
    """Cause of the CancelledError of a call that was still in a queue. Not its class, by which `asyncio.timeout` and
    task groups know a cancellation."""

    def __init__(self, waited_s: float) -> None:
        super().__init__(f"it had waited for {waited_s:.3g} s, and nothing of it was done")
        self.waited_s = waited_s
