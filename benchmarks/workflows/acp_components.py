"""What `benchmarks.acp` serves: a component that answers at once, so that what is measured is the way to it."""

from typing import TypedDict

import stretto


class Order(TypedDict):
    """What a shop knows of an order."""

    order_id: str
    status: str
    items: list[str]
    total: float


ORDER: Order = {"order_id": "#W2378156", "status": "delivered", "items": ["4602305039", "4202497723"], "total": 534.57}


@stretto.component
async def orders(action: str, order_id: str) -> Order:  # noqa: ARG001  # one answer, whatever is asked
    """Looks an order up."""
    return ORDER
