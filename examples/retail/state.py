"""What the words come to as the conversation stands: features for the planner, arguments for the executor."""

from collections.abc import Mapping
from typing import Final

from facts import Facts
from resolving.resolution import Basis
from resolving.resolve import resolve
from world import ACTIONS, READS, WRITES

from stretto.types.json import JsonObject

MOST: Final = 3
"""Counts above it are all *many*."""


def situation(words: str, facts: Facts) -> JsonObject:
    """``{"state": {...}, "about": {...}, "available": [...], "calls": {...}}``.

    The planner's features, what it may choose from, and what `resolve` makes of every action.
    """
    resolved = {action: resolve(action, words, facts) for action in ACTIONS}
    return {
        "state": _state(facts, resolved),
        "about": {action: {_kind(action): call["basis"]} for action, call in resolved.items() if "basis" in call},
        "available": [action for action, call in resolved.items() if "arguments" in call],
        "calls": {**resolved},
    }


def _state(facts: Facts, resolved: Mapping[str, JsonObject]) -> JsonObject:
    last = facts["last"] or {"tool": "none", "ok": True}
    return {
        "last": last["tool"],
        "last_ok": last["ok"],
        "customer": "profile" if facts["user"] else "id" if facts["user_id"] else "unknown",
        "orders": min(len(facts["orders"]), MOST),
        "any_asked": any(resolved[tool].get("basis") == Basis.STATED for tool in WRITES),
        "done": min(len(facts["done"]), MOST),
        "refused": min(len(facts["failed"]), MOST),
    }


def _kind(action: str) -> str:
    """What an action has in common with others; one that neither reads nor writes is a kind of its own."""
    return "write" if action in WRITES else "read" if action in READS else action
