"""Arguments of the tools that change where an order goes, what pays it, or where a customer lives."""

import re
from collections.abc import Mapping
from typing import Any

from facts import Facts
from words.brief import Brief
from words.mentions import SENTENCE, order_ids

from resolving.addresses import addresses_meant, cities, differs
from resolving.items import methods
from resolving.payments import candidates, stated
from resolving.resolution import Basis, call, missing, tried
from stretto.types.json import JsonObject


def order_address(brief: Brief, facts: Facts) -> JsonObject:
    pending = {i: o for i, o in facts["orders"].items() if o["status"].startswith("pending")}
    asked = re.search(r"\baddress|\bship(?:ped|ping)? to\b|\bsent to\b", brief.text)
    for address in addresses_meant(brief, facts):
        for order_id in _addressed(brief, pending):
            arguments: JsonObject = {"order_id": order_id, **address}
            elsewhere = differs(address, pending[order_id]["address"])
            if elsewhere and not tried(facts, "modify_pending_order_address", arguments):
                return call(arguments, Basis.STATED if asked else Basis.GUESSED)
    return missing("no pending order known, or no other address")


def _addressed(brief: Brief, pending: Mapping[str, Any]) -> list[str]:
    """Pending orders whose address the words are about: by id, by a thing in them, by where they go now; else all."""
    sentences = [s for s in SENTENCE.split(brief.text) if re.search(r"\baddress|\bship", s)]
    ids = [i for s in sentences for i in order_ids(re.sub(r"same (?:\w+ )?as[^,.;]*", "", s)) if i in pending]
    if ids:
        return ids
    of_thing = [
        i
        for m in brief.mentions
        if re.match(r"[\w-]+ (?:\w+ )?order\b", brief.text[m.start : m.start + 40])
        for i, order in pending.items()
        if any(item["name"] in m.products for item in order["items"])
    ]
    of_city = [
        i
        for s in sentences
        for m in re.finditer(r"([\w ]{2,16}) order\b", s)
        for city in cities(m.group(1))
        for i, order in pending.items()
        if order["address"]["city"] == city
    ]
    return of_thing or of_city or [i for i in pending if i in brief.order_ids] or list(pending)


def user_address(brief: Brief, facts: Facts) -> JsonObject:
    if not facts["user"]:
        return missing("the profile is not known yet")
    asked = re.search(r"\b(?:user|default|profile|account)\b[^.]{0,20}\baddress", brief.text)
    for address in addresses_meant(brief, facts):
        arguments: JsonObject = {"user_id": facts["user_id"], **address}
        if differs(address, facts["user"]["address"]) and not tried(facts, "modify_user_address", arguments):
            return call(arguments, Basis.STATED if asked else Basis.GUESSED)
    return missing("no other address known")


def order_payment(brief: Brief, facts: Facts) -> JsonObject:
    pending = {i: o for i, o in facts["orders"].items() if o["status"].startswith("pending") and o["payments"] == 1}
    own = methods(facts)
    kinds = stated(brief.text)
    asked = re.search(r"\b(?:chang|modif|switch|updat)\w*\b[^.;]{0,40}\bpayment", brief.text)
    for order_id in [i for i in pending if i in brief.order_ids] or pending:
        order = pending[order_id]
        for method in (*candidates(kinds, own, order["paid_with"]), *own):
            arguments: JsonObject = {"order_id": order_id, "payment_method_id": method}
            enough = method in own and own[method].get("balance", order["total"]) >= order["total"]
            if method != order["paid_with"] and enough and not tried(facts, "modify_pending_order_payment", arguments):
                return call(arguments, Basis.STATED if asked else Basis.GUESSED)
    return missing("no pending order known that another method could pay")
