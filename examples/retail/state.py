"""What the planner sees of the conversation so far, beside the customer's words: a few facts that decide."""

from collections.abc import Mapping, Sequence
from typing import Final

from executor import resolve
from facts import Facts
from resolving.resolution import Basis
from world import ACTIONS, WRITES

from stretto.types.json import JsonObject

MOST: Final = 3
"""Counts above it are all *many*."""


def situation(words: str, facts: Facts) -> JsonObject:
    """``{"state": {...}, "available": [...]}``: the planner's features, and the actions that it may choose from."""
    resolved = {action: resolve(action, words, facts) for action in ACTIONS}
    return {
        "state": _state(facts, resolved),
        "available": [action for action in ACTIONS if "arguments" in resolved[action]],
    }


def _state(facts: Facts, resolved: Mapping[str, JsonObject]) -> JsonObject:
    last = facts["last"] or {"tool": "none", "ok": True}
    asked = _basis(resolved, WRITES)
    return {
        "last": last["tool"],
        "last_ok": last["ok"],
        "customer": "profile" if facts["user"] else "id" if facts["user_id"] else "unknown",
        "orders": min(len(facts["orders"]), MOST),
        "unread": _basis(resolved, ("get_order_details", "get_product_details")),
        "asked": asked,
        "any_asked": Basis.STATED in asked.values(),
        "done": min(len(facts["done"]), MOST),
        "refused": min(len(facts["failed"]), MOST),
    }


def _basis(resolved: Mapping[str, JsonObject], tools: Sequence[str]) -> JsonObject:
    """On what ground each tool could be called: ``stated``, ``guessed``, or ``none``."""
    return {tool: resolved[tool].get("basis", "none") for tool in tools}
