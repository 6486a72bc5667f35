"""Resolve a chosen action's arguments from the customer's words and what is known. Pure and deterministic."""

from collections.abc import Mapping
from typing import Final

from facts import Facts
from words.brief import read
from world import END, SOOTHE, TRANSFER

from resolving.cancelling import cancel
from resolving.items import change_items, return_items
from resolving.orders import order_address, order_payment, user_address
from resolving.reads import (
    calculate,
    end,
    find_by_email,
    find_by_name,
    get_item,
    get_order,
    get_product,
    get_user,
    list_products,
    soothe,
    transfer,
)
from resolving.resolution import Resolver, missing
from stretto.types.json import JsonObject

RESOLVERS: Final[Mapping[str, Resolver]] = {
    "find_user_id_by_email": find_by_email,
    "find_user_id_by_name_zip": find_by_name,
    "get_user_details": get_user,
    "get_order_details": get_order,
    "get_product_details": get_product,
    "get_item_details": get_item,
    "list_all_product_types": list_products,
    "calculate": calculate,
    "return_delivered_order_items": return_items,
    "exchange_delivered_order_items": change_items("exchange_delivered_order_items", "delivered"),
    "modify_pending_order_items": change_items("modify_pending_order_items", "pending"),
    "cancel_pending_order": cancel,
    "modify_pending_order_address": order_address,
    "modify_user_address": user_address,
    "modify_pending_order_payment": order_payment,
    TRANSFER: transfer,
    SOOTHE: soothe,
    END: end,
}
"""How each action's arguments are found."""


def resolve(action: str, words: str, facts: Facts) -> JsonObject:
    """``{"arguments": {...}, "basis": ...}`` for the action's next call, or ``{"missing": reason}``.

    A write resolves to its next target that was not dealt with yet: called again, it goes on to the next order.
    """
    resolver = RESOLVERS.get(action)
    return missing(f"there is no action '{action}'") if resolver is None else resolver(read(words), facts)
