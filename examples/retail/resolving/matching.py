"""From things named in the words to items in the customer's orders."""

import re
from dataclasses import dataclass, replace
from typing import Any, Final

from facts import Facts
from words.brief import Brief
from words.events import Intent
from words.mentions import Mention
from words.values import told_values

Item = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """An item of a known order that the customer means."""

    order_id: str
    place: int
    """Index among the order's items."""
    item: Item
    mention: Mention


_PRICE: Final = re.compile(
    r"\b(?P<dear>(?:more|most) expensive|pricier|priciest|expensive one)"
    r"|\b(?P<cheap>(?:less|least) expensive|cheaper)\b"
)
_THAT_ORDER: Final = re.compile(r"\bin (?:it|that|the|this)\b|\bjust (?:bought|received|got|ordered)\b")
_DONE_BY: Final = {
    "return_delivered_order_items": Intent.RETURN,
    "exchange_delivered_order_items": Intent.CHANGE,
    "modify_pending_order_items": Intent.CHANGE,
}


def meant(brief: Brief, facts: Facts, intents: frozenset[Intent | None], status: str) -> list[Found]:
    """Items of known orders in this status that are named with one of the intents; order by order."""
    orders = {i: o for i, o in facts["orders"].items() if o["status"] == status}
    excluded = {p for m in brief.mentions if m.excepted or m.intent is Intent.KEEP for p in m.products}
    found: dict[tuple[str, int], Found] = {}
    taken: set[tuple[str, int]] = set()
    for mention in _live(brief, facts, intents):
        if mention.held not in (None, status) and _in_status(mention, facts, mention.held):
            continue
        for hit in _hits(mention, orders, excluded, brief, taken):
            place = (hit.order_id, hit.place)
            old = found.get(place)
            found[place] = hit if old is None else _both(old, hit)
            if mention.wish_options is not None:
                taken.add(place)
    return sorted(found.values(), key=lambda hit: (list(orders).index(hit.order_id), hit.place))


def _in_status(mention: Mention, facts: Facts, status: str) -> bool:
    """Whether an order of this status holds such a thing."""
    orders = (o for o in facts["orders"].values() if o["status"] == status)
    return any(item["name"] in mention.products for order in orders for item in order["items"])


def _live(brief: Brief, facts: Facts, intents: frozenset[Intent | None]) -> list[Mention]:
    """Mentions with one of the intents that are still to be done; *everything* only where it is asked for."""
    found = [m for m in brief.things if m.intent in intents and not m.excepted]
    if len(intents) > 1:
        found = [m for m in found if m.products] or found
    found = [m for m in found if m.only] or found
    done = _done(facts)
    return [m for m in found if _all_of_them(m) or not any((m.intent, p) in done for p in m.products)]


def _all_of_them(mention: Mention) -> bool:
    """Whether a mention is of several things; "the more expensive of the two" is of one."""
    return mention.many and not (mention.products and _PRICE.search(mention.have))


def _done(facts: Facts) -> set[tuple[Intent | None, str]]:
    """What was done with which product types."""
    names = {item["item_id"]: item["name"] for order in facts["orders"].values() for item in order["items"]}
    return {
        (_DONE_BY[call["tool"]], names[item_id])
        for call in facts["done"]
        if call["tool"] in _DONE_BY
        for item_id in (*call["arguments"]["item_ids"], *call["arguments"].get("new_item_ids", ()))
        if item_id in names
    }


def _both(old: Found, new: Found) -> Found:
    """An item named twice, by *everything* and by itself: both wishes hold."""
    if old.mention.products and new.mention.products:
        return old
    wish = f"{old.mention.wish} ; {new.mention.wish}"
    return replace(old, mention=replace(old.mention, wish=wish))


def _context(brief: Brief) -> frozenset[str]:
    """Every product type named anywhere: orders that hold more of them are likelier meant."""
    return frozenset(p for m in brief.mentions for p in m.products)


def _hits(
    mention: Mention, orders: dict[str, Any], excluded: set[str], brief: Brief, taken: set[tuple[str, int]]
) -> list[Found]:
    scope = _scope(mention, orders, brief)
    everything = [
        Found(order_id=order_id, place=place, item=item, mention=mention)
        for order_id, order in scope.items()
        for place, item in enumerate(order["items"])
        if (order_id, place) not in taken
    ]
    if not mention.products:
        return _everything(everything, excluded, mention)
    hits = [hit for hit in everything if hit.item["name"] in mention.products]
    return _narrow(mention, hits, orders, _context(brief)) if len(hits) > 1 else hits


def _scope(mention: Mention, orders: dict[str, Any], brief: Brief) -> dict[str, Any]:
    """The orders a mention may be about: those named with it, or the only one named at all."""
    ids = mention.order_ids or (brief.order_ids if len(brief.order_ids) == 1 else ())
    named = {i: o for i, o in orders.items() if i in ids}
    return named or (orders if not ids else {})


def _everything(hits: list[Found], excluded: set[str], mention: Mention) -> list[Found]:
    """*Everything*, less what was excepted; "in that order" means the one that holds an excepted thing."""
    hold = {hit.order_id for hit in hits if hit.item["name"] in excluded}
    one = hold and _THAT_ORDER.search(mention.wish)
    return [hit for hit in hits if hit.item["name"] not in excluded and (not one or hit.order_id in hold)]


def _narrow(mention: Mention, hits: list[Found], orders: dict[str, Any], context: frozenset[str]) -> list[Found]:
    """Choose among several items that fit by name: by what the words say of them."""
    if mention.have_options is not None:
        options = mention.have_options
        return [hit for hit in hits if all(hit.item["options"].get(k) == v for k, v in options.items())][:1]
    about = mention.have if mention.intent is Intent.CHANGE else f"{mention.have} {mention.wish}"
    scores = [_told(hit.item, about) for hit in hits]
    hits = [hit for hit, score in zip(hits, scores, strict=True) if score == max(scores)]
    prices = [m.lastgroup for m in _PRICE.finditer(about)]
    if prices:
        pick = max if prices[-1] == "dear" else min
        return [pick(hits, key=lambda hit: float(hit.item["price"]))]
    if mention.many:
        return hits
    company = [_company(hit, orders, context) for hit in hits]
    return [hits[company.index(max(company))]]


def _told(item: Item, about: str) -> int:
    """How many of the item's option values the words name."""
    return sum(1 for key, value in item["options"].items() if told_values(about, key, [value]))


def _company(hit: Found, orders: dict[str, Any], context: frozenset[str]) -> int:
    return len({item["name"] for item in orders[hit.order_id]["items"]} & context)
