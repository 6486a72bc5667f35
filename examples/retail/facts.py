"""What the server's answers taught: one JSON object that grows with each call."""

from typing import Any, TypeAlias

from world import END, READS, SOOTHE, TRANSFER, WRITES

from stretto.types.json import Json, JsonObject

Facts: TypeAlias = dict[str, Any]
"""A JSON object with the fields of `nothing`; `Any` because JSON of a foreign server is read field by field."""


def nothing() -> Facts:
    """Facts before the first call."""
    return {
        "user_id": None,
        "user": None,
        "home": None,
        "orders": {},
        "products": {},
        "items": {},
        "catalogue": None,
        "sums": [],
        "done": [],
        "failed": [],
        "calls": {},
        "last": None,
        "round": 0,
        "ended": False,
    }


def learn(facts: Facts, tool: str, arguments: JsonObject, result: Json, *, ok: bool) -> Facts:
    """New facts after one action; `result` is the server's answer, None when nothing was called. Pure."""
    new = {
        **facts,
        "round": facts["round"] + 1,
        "calls": {**facts["calls"], tool: facts["calls"].get(tool, 0) + 1},
        "last": {"tool": tool, "ok": ok},
        "ended": tool in (END, TRANSFER),
    }
    if tool in (END, SOOTHE):
        return new
    if not ok:
        new["failed"] = [*facts["failed"], {"tool": tool, "arguments": arguments}]
        return new
    if tool in WRITES:
        new["done"] = [*facts["done"], {"tool": tool, "arguments": arguments}]
    if tool in READS or tool in WRITES:
        _take(new, tool, arguments, result)
    return new


def _take(facts: Facts, tool: str, arguments: JsonObject, result: Any) -> None:
    """Put one answer in its place."""
    if tool.startswith("find_user_id"):
        facts["user_id"] = result
    elif tool in ("get_user_details", "modify_user_address"):
        facts["user"] = _user(result)
        facts["home"] = facts["home"] or facts["user"]["address"]
    elif tool == "get_product_details":
        facts["products"] = {**facts["products"], result["product_id"]: _product(result)}
    elif tool == "get_item_details":
        facts["items"] = {**facts["items"], result["item_id"]: result}
    elif tool == "list_all_product_types":
        facts["catalogue"] = result
    elif tool == "calculate":
        facts["sums"] = [*facts["sums"], arguments["expression"]]
    elif "order_id" in result:
        facts["orders"] = {**facts["orders"], result["order_id"]: _order(result)}


def _user(answer: Any) -> Facts:
    return {key: answer[key] for key in ("name", "address", "payment_methods", "orders")}


def _order(answer: Any) -> Facts:
    """The parts of an order that decide something; tracking numbers and the like are left out."""
    return {
        "status": answer["status"],
        "address": answer["address"],
        "items": answer["items"],
        "paid_with": answer["payment_history"][0]["payment_method_id"],
        "payments": len(answer["payment_history"]),
        "total": answer["payment_history"][0]["amount"],
    }


def _product(answer: Any) -> Facts:
    return {
        "name": answer["name"],
        "variants": {
            item_id: {key: variant[key] for key in ("options", "available", "price")}
            for item_id, variant in answer["variants"].items()
        },
    }
