"""Arguments of the tool that cancels an order."""

import re
from collections.abc import Iterator
from typing import Final

from facts import Facts
from words.brief import Brief
from words.events import Intent, order_ids

from resolving.items import ANY, SURE, pairs
from resolving.matching import meant
from resolving.resolution import Basis, call, missing, tried
from stretto.types.json import JsonObject

_CANCEL_CLAUSE: Final = re.compile(
    r"\bcancel(?:l?ing|l?ed)?\b((?:(?!\b(?:exchang|modif|chang|return|keep)).)*?)(?=$|[.;]\s|\n)"
)
_LAST_SENTENCE: Final = re.compile(r".*(?:[.;]\s|\n)", re.DOTALL)
_CANCEL_ORDER: Final = re.compile(
    r"\bcancel(?:l?ing)? (?:the |your |that |this |an |whole |entire |pending )*order\b|\bcancel it\b"
)
_CANCEL_ALL: Final = re.compile(r"\bcancel(?:l?ing)? (?:or return )?(?:all|everything)\b")
_MISTAKE: Final = re.compile(r"\bmistake\b|\baccident\w*")
_NOT_NEEDED: Final = re.compile(r"\bno longer need")


def cancel(brief: Brief, facts: Facts) -> JsonObject:
    """The next pending order that the words ask to cancel, with the reason given for it."""
    for order_id, basis, at in _cancellable(brief, facts):
        arguments: JsonObject = {"order_id": order_id, "reason": _reason(brief.text, at)}
        if facts["orders"][order_id]["status"] == "pending" and not tried(facts, "cancel_pending_order", arguments):
            return call(arguments, basis)
    return missing("no pending order known is named")


def _reason(text: str, at: int) -> str:
    """The reason nearest to where the words ask for it."""
    near = [(abs(m.start() - at), "ordered by mistake") for m in _MISTAKE.finditer(text)]
    near += [(abs(m.start() - at), "no longer needed") for m in _NOT_NEEDED.finditer(text)]
    return min(near)[1] if near else "no longer needed"


def _cancellable(brief: Brief, facts: Facts) -> Iterator[tuple[str, Basis, int]]:
    """Pending orders to cancel, likeliest first, each with its ground and where the words ask for it.

    The shop cancels whole orders only: one item of several counts as asked for when the words agree to that.
    """
    pending = {i: o for i, o in facts["orders"].items() if o["status"] == "pending"}
    named = _named(brief)
    yield from ((i, Basis.STATED, named[i]) for i in pending if i in named)
    whole = [m.start() for m in _CANCEL_ORDER.finditer(brief.text)]
    for hit in meant(brief, facts, SURE[Intent.CANCEL], "pending"):
        alone = len(pending[hit.order_id]["items"]) == 1
        if hit.mention.products and (whole or alone):
            yield hit.order_id, Basis.STATED, hit.mention.start
    if _CANCEL_ALL.search(brief.text):
        yield from ((i, Basis.STATED, 0) for i in pending)
    for at in whole:  # "change the shelf; if that cannot be, cancel the order": the order of the thing named before
        before = [m for m in brief.mentions if m.products and m.start < at and m.intent is Intent.CHANGE]
        for order_id, order in pending.items() if before else ():
            if any(item["name"] in before[-1].products for item in order["items"]):
                yield order_id, _if_unchangeable(brief, facts, order_id), at
    yield from ((i, Basis.GUESSED, 0) for i in pending if i in brief.order_ids)
    yield from ((hit.order_id, Basis.GUESSED, hit.mention.start) for hit in meant(brief, facts, ANY, "pending"))


def _named(brief: Brief) -> dict[str, int]:
    """Orders that the words ask by id to cancel, and where."""
    return {
        order_id: verb.start()
        for verb in _CANCEL_CLAUSE.finditer(brief.text)
        for order_id in order_ids(verb.group(1)) or order_ids(_LAST_SENTENCE.sub("", brief.text[: verb.start()]))
    }


def _if_unchangeable(brief: Brief, facts: Facts, order_id: str) -> Basis:
    """Stated once the variants are known and none fits; a guess until then."""
    hits = [hit for hit in meant(brief, facts, SURE[Intent.CHANGE], "pending") if hit.order_id == order_id]
    known = all(hit.item["product_id"] in facts["products"] for hit in hits)
    return Basis.STATED if hits and known and not pairs(hits, facts)[0] else Basis.GUESSED
