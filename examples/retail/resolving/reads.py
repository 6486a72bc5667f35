"""Arguments of the tools that only read, and of the actions that call nothing."""

from facts import Facts
from words.brief import Brief
from words.events import Intent
from words.mentions import Mention
from world import SOOTHE

from resolving.resolution import Basis, call, missing, tried
from stretto.types.json import JsonObject

MAX_SUMMARY_CHARS = 200
"""What a human agent reads first."""


def find_by_email(brief: Brief, facts: Facts) -> JsonObject:
    """The next e-mail address that was not tried."""
    if facts["user_id"]:
        return missing("the customer is known already")
    for email in brief.emails:
        if not tried(facts, "find_user_id_by_email", {"email": email}):
            return call({"email": email})
    return missing("no untried email address in the words")


def find_by_name(brief: Brief, facts: Facts) -> JsonObject:
    """The next name and zip code that were not tried."""
    if facts["user_id"]:
        return missing("the customer is known already")
    for first, last in brief.names:
        for code in brief.zips:
            arguments: JsonObject = {"first_name": first, "last_name": last, "zip": code}
            if not tried(facts, "find_user_id_by_name_zip", arguments):
                return call(arguments)
    return missing("no untried name with a zip code in the words")


def get_user(_brief: Brief, facts: Facts) -> JsonObject:
    """The profile of the customer who was found."""
    if not facts["user_id"]:
        return missing("the customer is not known yet")
    if facts["user"]:
        return missing("the profile is known already")
    return call({"user_id": facts["user_id"]})


def get_order(brief: Brief, facts: Facts) -> JsonObject:
    """The next unknown order: those named first, then those of the profile."""
    for order_id in (*brief.order_ids, *(facts["user"] or {"orders": []})["orders"]):
        if order_id not in facts["orders"] and not tried(facts, "get_order_details", {"order_id": order_id}):
            needed = order_id in brief.order_ids or _seeks_orders(brief, facts)
            return call({"order_id": order_id}, Basis.STATED if needed else Basis.GUESSED)
    return missing("every order named or listed is known")


def _seeks_orders(brief: Brief, facts: Facts) -> bool:
    """Whether something that the words speak of may be in an order not known yet."""
    things = [m for m in brief.things if m.intent is not None and not m.excepted]
    return not things or any(not m.products or m.many or not _is_placed(m, facts) for m in things)


def _is_placed(mention: Mention, facts: Facts) -> bool:
    """Whether a known order, of the status that the words tell, holds such a thing."""
    return any(
        item["name"] in mention.products
        for order in facts["orders"].values()
        if mention.held in (None, order["status"])
        for item in order["items"]
    )


def get_product(brief: Brief, facts: Facts) -> JsonObject:
    """The next unknown product of a known order: those to be changed first, then those named."""
    changing = [m for m in brief.mentions if m.intent is Intent.CHANGE]
    wanted = {product for m in changing for product in m.products}
    everything = any(not m.products for m in changing)
    named = {product for m in brief.mentions for product in m.products}
    items = [item for order in facts["orders"].values() for item in order["items"]]
    unknown = [item for item in items if item["product_id"] not in facts["products"]]
    for item in unknown:
        if item["name"] in wanted or everything:
            return call({"product_id": item["product_id"]})
    for item in unknown:
        if item["name"] in named:
            return call({"product_id": item["product_id"]}, Basis.GUESSED)
    for name, product_id in (facts["catalogue"] or {}).items():
        if name in named and product_id not in facts["products"]:
            return call({"product_id": product_id}, Basis.GUESSED)
    return missing("every product named is known, or in no order known yet")


def get_item(brief: Brief, facts: Facts) -> JsonObject:
    """The next unknown item that the words name by its number."""
    for item_id in brief.item_ids:
        if item_id not in facts["items"] and not tried(facts, "get_item_details", {"item_id": item_id}):
            return call({"item_id": item_id})
    return missing("no unknown item id in the words")


def list_products(brief: Brief, facts: Facts) -> JsonObject:
    """The catalogue, while something named is in no known order."""
    if facts["catalogue"]:
        return missing("the catalogue is known")
    ordered = {item["name"] for order in facts["orders"].values() for item in order["items"]}
    sought = [m for m in brief.mentions if m.products and not m.products & ordered]
    return call({}, Basis.GUESSED) if sought else missing("every product named is in an order that is known")


def calculate(_brief: Brief, facts: Facts) -> JsonObject:
    """What the things that were dealt with cost together: the sum that customers ask for."""
    dealt_with = {done["arguments"].get("order_id"): done["arguments"].get("item_ids") for done in facts["done"]}
    prices = [
        str(item["price"])
        for order_id, order in facts["orders"].items()
        if order_id in dealt_with
        for item in order["items"]
        if dealt_with[order_id] is None or item["item_id"] in dealt_with[order_id]
    ]
    expression = " + ".join(prices)
    if not prices or expression in facts["sums"]:
        return missing("nothing new was dealt with that has a price")
    return call({"expression": expression})


def soothe(_brief: Brief, facts: Facts) -> JsonObject:
    """A soothing reply: once, and again after something went wrong."""
    if facts["calls"].get(SOOTHE, 0) > len(facts["failed"]):
        return missing("nothing has gone wrong since the customer was last soothed")
    return call({})


def end(_brief: Brief, _facts: Facts) -> JsonObject:
    """The end, which is always possible."""
    return call({})


def transfer(brief: Brief, _facts: Facts) -> JsonObject:
    """What a human agent is told: the beginning of what the customer said."""
    return call({"summary": brief.text[:MAX_SUMMARY_CHARS]})
