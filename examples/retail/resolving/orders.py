"""Arguments of the tools that change where an order goes, what pays it, or where a customer lives."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from facts import Facts
from words.brief import Brief
from words.events import SENTENCE, order_ids

from resolving.addresses import addresses_meant, cities, differs
from resolving.items import methods
from resolving.payments import candidates, stated
from resolving.resolution import Basis, call, missing, tried
from stretto.types.json import JsonObject

_ORDER_ADDRESS: Final = "modify_pending_order_address"
_SOURCE: Final = re.compile(r"same (?:\w+ )?as[^,.;]*")
_ORDER_OF_THING: Final = re.compile(r"[\w-]+ (?:\w+ )?order\b")
_ORDER_OF_CITY: Final = re.compile(r"([\w ]{2,16}) order\b")
_MOVES: Final = re.compile(r"(?<!mail )\baddress|\bship(?:ped|ping)? to\b|\bsent to\b")
_ORDERS: Final = re.compile(r"\border|\bship|\bsent\b")
_SEVERAL: Final = re.compile(r"\b(?:all|both|every|each)\b|\borders\b|\baddresses\b")
_PROFILE: Final = re.compile(r"\b(?:user|default|profile|account)\b[^.]{0,20}\baddress")
_PAYMENT: Final = re.compile(r"\b(?:chang|modif|switch|updat)\w*\b[^.;]{0,40}\bpayment")


def order_address(brief: Brief, facts: Facts) -> JsonObject:
    """The next pending order that is to go elsewhere, and where."""
    moves = [sentence for sentence in SENTENCE.split(brief.text) if _MOVES.search(sentence)]
    if not moves:
        return missing("the words speak of no address")
    pending = {i: o for i, o in facts["orders"].items() if o["status"].startswith("pending")}
    for address in addresses_meant(brief, facts):
        for order_id in _addressed(brief, moves, pending):
            arguments: JsonObject = {"order_id": order_id, **address}
            elsewhere = differs(address, pending[order_id]["address"])
            if elsewhere and not tried(facts, _ORDER_ADDRESS, arguments):
                return call(arguments, _basis(moves, facts))
    return missing("no pending order known, or no other address")


def _basis(moves: Sequence[str], facts: Facts) -> Basis:
    """Stated for the first order; for further ones only if the words speak of several."""
    about_orders = [sentence for sentence in moves if _ORDERS.search(sentence)]
    first = all(done["tool"] != _ORDER_ADDRESS for done in facts["done"])
    several = any(_SEVERAL.search(sentence) for sentence in about_orders)
    return Basis.STATED if about_orders and (first or several) else Basis.GUESSED


def _addressed(brief: Brief, moves: Sequence[str], pending: Mapping[str, Any]) -> list[str]:
    """Pending orders whose address the words are about: by id, by a thing in them, by where they go now; else all."""
    ids = [i for s in moves for i in order_ids(_SOURCE.sub("", s)) if i in pending]
    return ids or _by_thing(brief, pending) or _by_city(moves, pending) or list(pending)


def _by_thing(brief: Brief, pending: Mapping[str, Any]) -> list[str]:
    """Orders called by what is in them: "your laptop order"."""
    return [
        order_id
        for mention in brief.mentions
        if _ORDER_OF_THING.match(brief.text, mention.start)
        for order_id, order in pending.items()
        if any(item["name"] in mention.products for item in order["items"])
    ]


def _by_city(moves: Sequence[str], pending: Mapping[str, Any]) -> list[str]:
    """Orders called by where they go: "your Chicago order"."""
    return [
        order_id
        for sentence in moves
        for match in _ORDER_OF_CITY.finditer(sentence)
        for city in cities(match.group(1))
        for order_id, order in pending.items()
        if order["address"]["city"] == city
    ]


def user_address(brief: Brief, facts: Facts) -> JsonObject:
    """Where the customer lives from now on."""
    if not facts["user"]:
        return missing("the profile is not known yet")
    if not _MOVES.search(brief.text):
        return missing("the words speak of no address")
    for address in addresses_meant(brief, facts):
        arguments: JsonObject = {"user_id": facts["user_id"], **address}
        if differs(address, facts["user"]["address"]) and not tried(facts, "modify_user_address", arguments):
            return call(arguments, Basis.STATED if _PROFILE.search(brief.text) else Basis.GUESSED)
    return missing("no other address known")


def order_payment(brief: Brief, facts: Facts) -> JsonObject:
    """The next pending order that another method is to pay, and which."""
    pending = {i: o for i, o in facts["orders"].items() if o["status"].startswith("pending") and o["payments"] == 1}
    own = methods(facts)
    kinds = stated(brief.text)
    asked = _PAYMENT.search(brief.text)
    if not kinds and not asked:
        return missing("the words speak of no payment method")
    for order_id in [i for i in pending if i in brief.order_ids] or pending:
        order = pending[order_id]
        for method in (*candidates(kinds, own, order["paid_with"]), *own):
            arguments: JsonObject = {"order_id": order_id, "payment_method_id": method}
            enough = method in own and own[method].get("balance", order["total"]) >= order["total"]
            if method != order["paid_with"] and enough and not tried(facts, "modify_pending_order_payment", arguments):
                return call(arguments, Basis.STATED if asked else Basis.GUESSED)
    return missing("no pending order known that another method could pay")
