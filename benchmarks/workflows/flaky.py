"""A component that fails as often as it is told to, for reasons that a retry may help."""

import random

import stretto

DRAW = random.Random(7)  # the same failures in each run of the benchmark


@stretto.component("flaky", "1.0.0", effects="read")
async def flaky(fails: float) -> dict[str, bool]:
    """Answers, or is not there."""
    if DRAW.random() < fails:
        raise stretto.ComponentError("not there", stretto.Code.UNAVAILABLE)
    return {"done": True}
