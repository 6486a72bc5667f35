"""Steps of a workflow and of the one inside it."""

from typing import TypedDict

import stretto


class Allowed(TypedDict):
    allowed: bool


class Amount(TypedDict):
    amount: float


@stretto.component(version="1.0.0", effects="pure")
async def read(text: str) -> dict[str, str]:
    return {"order": text.rpartition(" ")[2]}


@stretto.component(version="1.0.0", effects="read")
async def check(order: str) -> Allowed:
    return {"allowed": order.startswith("#")}


@stretto.component(version="1.0.0", effects="read")
async def amount(order: str, allowed: bool) -> Amount:
    return {"amount": 12.5 if allowed else 0.0}


@stretto.component(version="1.0.0", effects="pure")
async def close(amount: float) -> dict[str, str]:
    return {"text": f"{amount:.2f} go back"}
