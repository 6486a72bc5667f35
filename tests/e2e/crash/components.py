"""What the workflows of the crash test are made of, beside the shop: a fake bank, and what needs no server."""

import contextlib
import os
import threading
from pathlib import Path
from typing import Any

import stretto
from stretto.types.json import Json, JsonObject

FOLDER = Path(os.environ["CRASH_FOLDER"])


@stretto.component("mover", effects="read")
async def mover(user: str, street: str, ctx: stretto.Context) -> JsonObject:
    """Ask first and write then, both through the engine."""
    await ctx.call("shop", tool="get_order_details", arguments={"order_id": "#W5918442"})
    address: dict[str, Json] = {"address1": street, "address2": "", "city": "Oslo", "state": "NY", "country": "USA"}
    moved = await ctx.call("shop", tool="modify_user_address", arguments={"user_id": user, **address, "zip": "10001"})
    return {"ok": moved["ok"]}


@stretto.component("bank", effects="write", idempotent=True)
def bank(amount: int, ctx: stretto.Context) -> JsonObject:
    """Pay once per effect key, however often it is asked: the payment is a file, which comes to be all at once."""
    payment = FOLDER / "payments" / ctx.effect_key.replace("/", "_")
    payment.parent.mkdir(exist_ok=True)
    draft = payment.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
    draft.write_text(str(amount))
    with contextlib.suppress(FileExistsError):
        payment.hardlink_to(draft)
    draft.unlink()
    return {"paid": amount}


@stretto.component("note", effects="pure", inline=True)
def note(facts: list[Any]) -> JsonObject:
    """Sum up what was done."""
    return {"done": sum(bool(fact) for fact in facts)}
