"""A planner, and a store that is down."""

import stretto


@stretto.component("planner", "1.0.0", effects="pure")
async def planner() -> dict[str, str]:
    """Plans."""
    return {"plan": "ask"}


@stretto.component("store", "1.0.0", effects="read")
async def store() -> dict[str, bool]:
    """Is down."""
    raise stretto.ComponentError("the store is down", stretto.Code.UNAVAILABLE)
