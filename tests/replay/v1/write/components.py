"""A bank that notes each payment in a file: one line for each that was really made."""

import json
from pathlib import Path
from typing import Literal, TypedDict

import stretto
from stretto import Context

LEDGER = Path("ledger.jsonl")


class Amount(TypedDict):
    amount: int


class Paid(TypedDict):
    paid: int


@stretto.component(version="1.0.0", effects="pure")
async def check(amount: int) -> Amount:
    return {"amount": min(amount, 100)}


@stretto.component(version="1.0.0", effects={"pay": "write", "look": "read"}, action_field="do")
def bank(do: Literal["pay", "look"], amount: int, context: Context) -> Paid:
    with LEDGER.open("a") as ledger:
        ledger.write(json.dumps({"key": context.effect_key, "amount": amount}) + "\n")
    return {"paid": amount}


@stretto.component(version="1.0.0", effects="pure")
async def thank(paid: int | None, name: str) -> dict[str, str]:
    return {"text": f"{name}, {paid or 'nothing'} is on its way"}
