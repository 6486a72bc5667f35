"""The words cut into events: a verb, a thing, the end of a sentence, an exception, a condition, an address."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from words.lexicon import PRODUCTS


class Intent(StrEnum):
    """What the customer wants done with a thing."""

    RETURN = "return"
    CHANGE = "change"
    CANCEL = "cancel"
    ADDRESS = "address"
    KEEP = "keep"


ORDER_ID: Final = re.compile(r"#?\bw\d{7}\b|#\d{7}\b", re.IGNORECASE)
SENTENCE: Final = re.compile(r"(?<=[.!?;])\s+|\n+")


_VERBS: Final[tuple[tuple[Intent, str], ...]] = (
    (Intent.KEEP, r"keep(?:ing)?\b"),
    (Intent.RETURN, r"return(?:ed|ing)?\b|send(?:ing)? back\b"),
    (
        Intent.CANCEL,
        r"cancel(?!l?ed order)(?:l?ing|l?ed)?\b|remov(?:e|ing)\b|no longer (?:need|want)(?:ed)?\b",
    ),
    (
        Intent.CHANGE,
        (
            r"exchang(?:e|ed|ing)\b|modif(?:y|ied|ying)\b|chang(?:e|ed|ing)\b(?! your mind)|switch(?:ing)?\b(?! type)"
            r"|swap(?:ping)?\b|replac(?:e|ed|ing)\b|upgrad(?:e|ing)\b|adjust(?:ing)?\b|downgrad(?:e|ing)\b"
        ),
    ),
)
_VERB: Final = re.compile("|".join(f"(?P<{intent}>\\b(?:{pattern}))" for intent, pattern in _VERBS))
_EVERYTHING: Final = re.compile(
    r"\b(?:everything(?: else)?|all (?:the |your |of your |of the )?(?:\w+ )?(?:items|things|orders?)\b(?! address)"
    r"|(?<=return )(?:the |your |my )?orders?(?= |$|\.)"
    r"|(?:pending )?order items?|its (?:items?|(?=color))|the rest|(?:whole|entire) order)\b"
)
_EXCEPT: Final = re.compile(r"\b(?:except(?: for)?|but not|other than|apart from|besides|everything but)\b")
_LAST_NAMED: Final = re.compile(r"\b(?:return|cancel|returning|cancelling) (?:the|your) (?:[\w-]+ ){0,4}?(ones?)\b")
CONDITION: Final = re.compile(
    r"\bif\b[^.;]*?(?:\bnot\b|n't\b|cannot|\bno\b|\bunable\b|\bissues?\b|impossible|\bfails?\b)|\botherwise\b"
)
ADDRESS: Final = re.compile(r"(?<!mail )\baddress(?:es)?\b")
"""A postal one, not an e-mail address."""
_DENIED: Final = re.compile(r"(?:(?:\bnot|n't|\bnever)(?: \w+){0,3}|\bwhether(?: \w+){0,5}) $")


def _alias_table() -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for product, aliases in PRODUCTS.items():
        for alias in aliases.split("|"):
            table.setdefault(alias, set()).add(product)
    return {alias: frozenset(products) for alias, products in table.items()}


_ALIASES: Final = _alias_table()
_PRODUCT: Final = re.compile(
    r"(?<![\w-])("
    + "|".join(re.escape(alias) for alias in sorted(_ALIASES, key=len, reverse=True))
    + r")(s|es)?\b(?!-)"
)


class EventKind(StrEnum):
    """What an event is."""

    SENTENCE = "sentence"
    """The gap between two."""
    VERB = "verb"
    THING = "thing"
    EXCEPT = "except"
    CONDITION = "condition"
    ADDRESS = "address"


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """A stretch of the words that means something."""

    start: int
    end: int
    kind: EventKind
    products: frozenset[str] = frozenset()
    """Of a thing; empty means *everything*."""
    intent: Intent | None = None
    """Of a verb."""
    many: bool = False
    """A thing named in the plural."""


def events_of(low: str) -> list[Event]:
    """Every event of the words (lower case), in their order; of two at one place the longer first."""
    events = [Event(start=m.start(), end=m.end(), kind=EventKind.SENTENCE) for m in SENTENCE.finditer(low)]
    for m in _VERB.finditer(low):
        intent = Intent(m.lastgroup or "")
        if not _DENIED.search(low, max(0, m.start() - 40), m.start()) or intent is Intent.KEEP:
            events.append(Event(start=m.start(), end=m.end(), kind=EventKind.VERB, intent=intent))
    events += _things(low)
    for kind, pattern in ((EventKind.EXCEPT, _EXCEPT), (EventKind.CONDITION, CONDITION), (EventKind.ADDRESS, ADDRESS)):
        events += [Event(start=m.start(), end=m.end(), kind=kind) for m in pattern.finditer(low)]
    return sorted(events, key=lambda e: (e.start, -e.end))


def _things(low: str) -> Iterator[Event]:
    things = []
    for m in _PRODUCT.finditer(low):
        plural = bool(m.group(2)) or m.group(1).endswith("shelves")
        things.append(
            Event(start=m.start(), end=m.end(), kind=EventKind.THING, products=_ALIASES[m.group(1)], many=plural)
        )
    yield from things
    for m in _LAST_NAMED.finditer(low):  # "return the cheaper one" speaks of the thing named last
        named = [thing for thing in things if thing.end <= m.start()]
        if named:
            many = m.group(1) == "ones"
            yield Event(start=m.start(1), end=m.end(1), kind=EventKind.THING, products=named[-1].products, many=many)
    for m in _EVERYTHING.finditer(low):
        yield Event(start=m.start(), end=m.end(), kind=EventKind.THING, many=True)


_BOUNDS: Final = frozenset({EventKind.VERB, EventKind.THING, EventKind.SENTENCE, EventKind.EXCEPT})


def left_of(events: Sequence[Event], index: int) -> int:
    """Where the words before an event begin that are about it."""
    for event in reversed(events[:index]):
        if event.kind in _BOUNDS and event.end <= events[index].start:
            return event.end
    return 0


def right_of(low: str, events: Sequence[Event], index: int) -> int:
    """Where the words on a thing end: at the next thing, another intent, an address, or a new line."""
    for event in events[index + 1 :]:
        if event.kind is EventKind.THING and event.start >= events[index].end:
            return event.start
        if event.kind is EventKind.VERB and event.intent in (Intent.RETURN, Intent.CANCEL):
            return event.start
        if event.kind is EventKind.ADDRESS or (
            event.kind is EventKind.SENTENCE and "\n" in low[event.start : event.end]
        ):
            return event.start
    return len(low)


def sentence_start(events: Sequence[Event], index: int) -> int:
    """Where an event's sentence begins."""
    return max((e.end for e in events[:index] if e.kind is EventKind.SENTENCE), default=0)


def sentence_of(low: str, events: Sequence[Event], index: int) -> str:
    """The sentence that an event stands in."""
    end = min((e.start for e in events[index:] if e.kind is EventKind.SENTENCE), default=len(low))
    return low[sentence_start(events, index) : end]


def order_ids(text: str) -> tuple[str, ...]:
    """Order ids that a text names, as the shop writes them."""
    found = (m.group().upper() for m in ORDER_ID.finditer(text))
    return tuple(dict.fromkeys(i if i.startswith("#") else f"#{i}" for i in found))
