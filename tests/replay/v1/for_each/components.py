"""Two steps for each item of a list, and a sum over the results."""

from typing import Any

import stretto


@stretto.component(version="1.0.0", effects="read")
async def find(number: str, place: int) -> dict[str, int]:
    return {"total": len(number) * 10 + place}


@stretto.component(version="1.0.0", effects="pure")
async def price(total: int) -> dict[str, int]:
    return {"gross": total * 2}


@stretto.component("sum", version="1.0.0", effects="pure")
async def add(orders: list[dict[str, Any]]) -> dict[str, int]:
    return {"total": sum(order["price"]["gross"] for order in orders)}
