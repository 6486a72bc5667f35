"""One component for each item of a list, which refuses one of them."""

from typing import TypedDict

import stretto
from stretto import Code, ComponentError


class Price(TypedDict):
    price: int


class Summed(TypedDict):
    total: int
    unknown: int


@stretto.component(version="1.0.0", effects="read")
async def price(number: str) -> Price:
    if not number.startswith("#"):
        raise ComponentError(f"'{number}' is no order number", Code.INVALID_ARGUMENT)
    return {"price": len(number)}


@stretto.component("sum", version="1.0.0", effects="pure")
async def add(prices: list[Price | None]) -> Summed:
    known = [each["price"] for each in prices if each is not None]
    return {"total": sum(known), "unknown": len(prices) - len(known)}
