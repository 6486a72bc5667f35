"""Which things the customer's words name, and what they want done with each: a shallow reading by patterns.

One walk over the events of the words gives every thing its intent. No model, and no knowledge of any task.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from words.events import (
    CONDITION,
    Event,
    EventKind,
    Intent,
    events_of,
    left_of,
    order_ids,
    right_of,
    sentence_of,
    sentence_start,
)

Options: TypeAlias = Mapping[str, str]
"""Option values by option."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Mention:
    """One place where the words name a thing, and what they say around it."""

    products: frozenset[str]
    """Product types it may be; empty means *everything*."""
    intent: Intent | None
    many: bool = False
    """All such things are meant, not one."""
    fallback: bool = False
    """Said under a condition: only if the first wish cannot be met."""
    excepted: bool = False
    """Named as what is *not* meant."""
    only: bool = False
    """The customer came to want nothing but this of the same intent."""
    have: str = ""
    """Words on the thing as it is."""
    wish: str = ""
    """Words on what it should become."""
    otherwise: str = ""
    """Words on what it should become if that cannot be."""
    have_options: Options | None = None
    wish_options: Options | None = None
    order_ids: tuple[str, ...] = ()
    """Orders named in the same sentence."""
    held: str | None = None
    """Status of the order it is in, if the words tell it: ``pending`` or ``delivered``."""
    start: int = 0
    """Where the words name it."""


_QUESTION: Final = re.compile(
    r"\b(?:know|ask|check|tell|wonder|inquire|how many|how much|tracking|curious|total price)\b"
)
_DETERMINER: Final = re.compile(
    r".*(?:\b(?:the|a|an|your|my|this|that|which|and|or|for|to|of|any|just)\b|[,;(:])", re.DOTALL
)
_MANY: Final = re.compile(r"\b(?:all|both|every|two|three)\b")
_ONLY: Final = re.compile(r"\bonly (?:\w+ ){0,2}(?:the|your) $")
_COMPANION: Final = re.compile(r"\b(?:with|goes with) (?:the|your|a) $")
_PENDING: Final = re.compile(r"\bpending\b|\b(?:just|recently) (?:ordered|placed)\b")
_DELIVERED: Final = re.compile(r"\b(?:received|delivered|arrived)\b")
_INTO: Final = re.compile(r"\b(?:to|for|into|with) (?:a|an|another)\b[^,.;]*$")
_BECOMES: Final = re.compile(
    r"\s*(\([^)]*\)|(?:that|which|you)\b(?:(?!\b(?:want|need|like)\b)[^.,;]){1,60}?)\s*\b(?:to|for|into)\b"
)
_WHICH: Final = re.compile(r"\bwhich (?:of the )?(?:\w+ )?$")


def mentions(low: str, literals: Sequence[tuple[int, Options]]) -> tuple[Mention, ...]:
    """Every thing that the words (lower case, literals blanked out) name, in their order."""
    return tuple(_walk(low, events_of(low), literals))


def _walk(low: str, events: Sequence[Event], literals: Sequence[tuple[int, Options]]) -> Iterator[Mention]:
    last: Intent | None = None
    intent: Intent | None = None
    fallback = excepted = False
    for index, event in enumerate(events):
        if event.kind is EventKind.SENTENCE:
            last, intent, fallback, excepted = intent or last, None, False, False
        elif event.kind is EventKind.CONDITION:
            fallback = True
        elif event.kind is EventKind.VERB:
            intent, excepted = _intent_of_verb(events, index), False
        elif event.kind is EventKind.EXCEPT:
            excepted = True
        elif event.kind is EventKind.THING and (event.products or intent is not None):
            # *everything* needs a verb before it: "make sure everything is addressed" names no thing
            found = intent or _intent_of_thing(low, events, index, last)
            if found in (Intent.RETURN, Intent.CANCEL) and _COMPANION.search(
                low, max(0, event.start - 20), event.start
            ):
                found = None  # "the backpack that came with the vacuum" speaks of the backpack
            mention = _mention(low, events, index, literals)
            yield replace(mention, intent=found, fallback=fallback, excepted=excepted)


def _intent_of_verb(events: Sequence[Event], index: int) -> Intent | None:
    """A verb's intent; changing an address is another thing than changing an item."""
    intent = events[index].intent
    if intent is not Intent.CHANGE:
        return intent
    for later in events[index + 1 :]:
        if later.kind in (EventKind.THING, EventKind.VERB, EventKind.SENTENCE):
            return intent
        if later.kind is EventKind.ADDRESS:
            return Intent.ADDRESS
    return intent


def _intent_of_thing(low: str, events: Sequence[Event], index: int, last: Intent | None) -> Intent | None:
    """The intent of a thing named before any verb: its sentence's first verb, else the next sentence's, else the last.

    A thing in a question ("how many t-shirts are there") has none.
    """
    question = _QUESTION.search(low, sentence_start(events, index), events[index].start)
    sentences = 0
    for event in events[index + 1 :]:
        if event.kind is EventKind.SENTENCE:
            sentences += 1
            if sentences > 1 or question:
                break
        elif event.kind is EventKind.VERB and event.intent is not Intent.KEEP:
            return event.intent
        elif event.kind is EventKind.THING and sentences:
            break
    return None if question else last


def _mention(low: str, events: Sequence[Event], index: int, literals: Sequence[tuple[int, Options]]) -> Mention:
    event = events[index]
    before = low[left_of(events, index) : event.start]
    after = low[event.end : right_of(low, events, index)]
    mine = [value for at, value in literals if event.end <= at <= event.end + len(after)]
    have, wish = _have_and_wish(before, after)
    wish, otherwise = _split_condition(wish)
    return Mention(
        products=event.products,
        intent=None,
        many=event.many or bool(_MANY.search(before[-25:])),
        only=bool(_ONLY.search(low, max(0, event.start - 40), event.start)),
        have=have,
        wish=wish,
        otherwise=otherwise,
        have_options=mine[0] if len(mine) > 1 else None,
        wish_options=mine[-1] if mine else None,
        order_ids=order_ids(sentence_of(low, events, index)),
        held=_held(low, events, index),
        start=event.start,
    )


def _have_and_wish(before: str, after: str) -> tuple[str, str]:
    """Which of the words around a thing tell what it is, and which what it should become."""
    have = _DETERMINER.sub("", before)
    if _WHICH.search(before):  # "if asked for which lamp, it is the white one"
        return f"{have} {after}", ""
    if _INTO.search(before):  # "exchange it for a red lamp"
        return "", f"{have} ; {after}"
    described = _BECOMES.match(after)
    if described:  # "the bottle (750ml) for one of 1000ml"
        return f"{have} {described.group(1)}", after[described.end(1) :]
    return have, after


def _held(low: str, events: Sequence[Event], index: int) -> str | None:
    """Whether the words around a thing, or else its verb, say that it is still to come or has arrived."""
    event = events[index]
    left = left_of(events, index) if event.products else sentence_start(events, index)
    around = low[left : event.end] + " | " + low[event.end : event.end + 40].partition(".")[0]
    if _PENDING.search(around):
        return "pending"
    if _DELIVERED.search(around):
        return "delivered"
    verbs = [low[e.start : e.end] for e in events[:index] if e.kind is EventKind.VERB and e.intent is not Intent.KEEP]
    verb = verbs[-1] if verbs else ""
    return "pending" if verb.startswith("modif") else "delivered" if verb.startswith("exchang") else None


def _split_condition(wish: str) -> tuple[str, str]:
    """Split what is wished from what is wished *if that cannot be*."""
    match = CONDITION.search(wish)
    if match is None:
        return wish, ""
    return wish[: match.start()], wish[match.end() :]
