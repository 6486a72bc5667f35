"""A write whose answer is lost."""

from typing import TypedDict

import stretto
from stretto import Code, ComponentError


class Amount(TypedDict):
    amount: int


class Paid(TypedDict):
    paid: int


@stretto.component(version="1.0.0", effects="pure")
async def check(amount: int) -> Amount:
    return {"amount": amount}


@stretto.component(version="1.0.0", effects="write")
async def pay(amount: int) -> Paid:
    raise ComponentError("the line went dead", Code.UNAVAILABLE)


@stretto.component(version="1.0.0", effects="pure")
async def thank(paid: int) -> dict[str, str]:
    return {"text": f"{paid} are on their way"}
