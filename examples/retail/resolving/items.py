"""Arguments of the tools that return, exchange or modify items of an order."""

import re
from typing import Any, Final

from facts import Facts
from words.brief import Brief
from words.events import Intent

from resolving.matching import Found, meant
from resolving.payments import for_difference, for_refund, stated
from resolving.resolution import Basis, Resolver, call, missing, tried
from resolving.variants import choose
from stretto.types.json import JsonObject

_ITEM_ID: Final = re.compile(r"\b\d{10}\b")

SURE: Final = {
    Intent.RETURN: frozenset({Intent.RETURN}),
    Intent.CHANGE: frozenset({Intent.CHANGE}),
    Intent.CANCEL: frozenset({Intent.CANCEL}),
}
ANY: Final[frozenset[Intent | None]] = frozenset({*Intent, None}) - {Intent.KEEP}


def wanted(brief: Brief, facts: Facts, intent: Intent, status: str) -> tuple[dict[str, list[Found]], Basis]:
    """Items by order: those the customer wants this done with; if none, those named at all."""
    for intents, basis in ((SURE[intent], Basis.STATED), (ANY, Basis.GUESSED)):
        found = meant(brief, facts, intents, status)
        if found:
            by_order: dict[str, list[Found]] = {}
            for hit in found:
                by_order.setdefault(hit.order_id, []).append(hit)
            return by_order, basis
    return {}, Basis.GUESSED


def methods(facts: Facts) -> dict[str, Any]:
    """The customer's payment methods, as far as known."""
    return facts["user"]["payment_methods"] if facts["user"] else {}


def return_items(brief: Brief, facts: Facts) -> JsonObject:
    """The next delivered order with things to return, all of them at once, and where the refund goes."""
    by_order, basis = wanted(brief, facts, Intent.RETURN, "delivered")
    for order_id, hits in by_order.items():
        order = facts["orders"][order_id]
        arguments: JsonObject = {
            "order_id": order_id,
            "item_ids": [hit.item["item_id"] for hit in hits],
            "payment_method_id": for_refund(stated(brief.text), methods(facts), order["paid_with"]),
        }
        if not tried(facts, "return_delivered_order_items", arguments):
            return call(arguments, basis)
    return missing("no delivered order known holds a thing to return")


def change_items(tool: str, status: str) -> Resolver:
    """The resolver of a tool that changes items of an order in this status: `exchange` or `modify`."""

    def resolver(brief: Brief, facts: Facts) -> JsonObject:
        by_order, basis = wanted(brief, facts, Intent.CHANGE, status)
        reason = f"no {status} order known holds a thing to change"
        for order_id, hits in by_order.items():
            changes, lacking = pairs(hits, facts)
            reason = lacking or reason
            if not changes:
                continue
            arguments = _change_arguments(brief, facts, order_id, changes)
            if not tried(facts, tool, arguments):
                return call(arguments, basis)
        return missing(reason)

    return resolver


def pairs(hits: list[Found], facts: Facts) -> tuple[list[tuple[Found, str]], str]:
    """Each item with its new variant; empty while a product is unknown."""
    found = []
    for hit in hits:
        product = facts["products"].get(hit.item["product_id"])
        if product is None:
            return [], f"the variants of {hit.item['name']} are not known"
        mention = hit.mention
        named = [i for i in _ITEM_ID.findall(mention.wish) if i in product["variants"] and i != hit.item["item_id"]]
        new = named[0] if named else choose(mention, hit.item, product["variants"])
        if new:
            found.append((hit, new))
    return found, "" if found else "no available variant fits"


def _change_arguments(brief: Brief, facts: Facts, order_id: str, changes: list[tuple[Found, str]]) -> JsonObject:
    products = facts["products"]
    price = sum(products[hit.item["product_id"]]["variants"][new]["price"] - hit.item["price"] for hit, new in changes)
    original = facts["orders"][order_id]["paid_with"]
    return {
        "order_id": order_id,
        "item_ids": [hit.item["item_id"] for hit, _ in changes],
        "new_item_ids": [new for _, new in changes],
        "payment_method_id": for_difference(stated(brief.text), methods(facts), original, price),
    }
