"""The no-op that every step of the measured workflows calls."""

import stretto


@stretto.component("add-one", "1.0.0", effects="pure")
async def add_one(value: int) -> dict[str, int]:
    """Adds one."""
    return {"value": value + 1}
