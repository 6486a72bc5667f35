"""The no-op that every step of the measured workflows calls."""

import stretto


@stretto.component("add-one", "1.0.0", effects="pure")
async def add_one(value: int) -> dict[str, int]:
    """Adds one."""
    return {"value": value + 1}


@stretto.component("zero", "1.0.0", effects="pure")
async def zero(value: int) -> dict[str, int]:
    """Stands by for all the others."""
    return {"value": min(value, 0)}
