"""A desk that plans, answers and books; the carrier keeps its own count of what it really did."""

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import Field

import stretto

BOOKED: Final[Counter[str]] = Counter()
"""Real bookings, by effect key: the truth, whatever the records say."""

APIS: Final = {"track": "ORDER_STATUS_QUERY", "cancel": "ORDER_CANCEL", "refund": "REFUND_CREATE"}

Api = Literal["ORDER_STATUS_QUERY", "ORDER_CANCEL", "REFUND_CREATE"]


@dataclass
class Planned:
    """What the customer wants, and how much of a hurry it is. A model says it, so any text may come."""

    intent: str
    urgency: Annotated[float, Field(ge=0, le=1)]


@dataclass
class Answered:
    """Which call is made, and what is said."""

    intent: str
    reply: str


@stretto.component("planner", "1.0.0", effects="pure", inline=True)
def planner(query: str) -> Planned:
    """The first intent that the query names."""
    return Planned(next((intent for intent in APIS if intent in query), "track"), 0.5)


@stretto.component("executor", "1.0.0", effects="read", inline=True)
def executor(wanted: str) -> Answered:
    """The call for an intent."""
    return Answered(APIS[wanted], f"We did: {APIS[wanted]}.")


@stretto.component("carrier", "1.0.0", effects="write")
class Carrier:
    """Books, and knows what it booked."""

    async def __call__(self, api: Api, context: stretto.Context) -> dict[str, str]:
        BOOKED[context.effect_key] += 1
        return {"booked": api}

    async def confirm(self, api: Api, context: stretto.Context) -> dict[str, str] | None:
        """What was booked under this key."""
        return {"booked": api} if context.effect_key in BOOKED else None


@stretto.reward("right", inline=True)
def right(api: str, reply: str, booked: str | None, context: stretto.Context) -> float:
    """1 when what was asked for was done and said."""
    gold: Any = context.reference
    did = api if api == "ORDER_STATUS_QUERY" else booked
    return float(did == gold and api in reply)
