"""Which things the customer's words name, and what they want done with each: a shallow reading by patterns.

The words are cut into events (a verb, a thing, an order id, the end of a sentence, an exception, a condition); one walk
over the events gives every thing its intent. No model, and no knowledge of any task.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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


Options = Mapping[str, str]


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


ORDER_ID: Final = re.compile(r"#?\bw\d{7}\b|#\d{7}\b", re.IGNORECASE)
SENTENCE: Final = re.compile(r"(?<=[.!?;])\s+|\n+")

_LITERAL: Final = re.compile(r"\{[^{}]*\}")
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
_CONDITION: Final = re.compile(
    r"\bif\b[^.;]*?(?:\bnot\b|n't\b|cannot|\bno\b|\bunable\b|\bissues?\b|impossible|\bfails?\b)|\botherwise\b"
)
ADDRESS: Final = re.compile(r"(?<!mail )\baddress(?:es)?\b")
"""A postal one, not an e-mail address."""
_DENIED: Final = re.compile(r"(?:(?:\bnot|n't|\bnever)(?: \w+){0,3}|\bwhether(?: \w+){0,5}) $")
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
_CONNECTIVES: Final = frozenset({"", "and", "or", "the", "your"})
_WHICH: Final = re.compile(r"\bwhich (?:of the )?(?:\w+ )?$")


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


@dataclass(frozen=True, kw_only=True, slots=True)
class _Event:
    start: int
    end: int
    kind: str
    products: frozenset[str] = frozenset()
    intent: Intent | None = None
    many: bool = False


def cut_literals(words: str) -> tuple[str, list[tuple[int, Options]]]:
    """Blank out option dictionaries written in the words, and return them with their places."""
    literals: list[tuple[int, Options]] = []
    for match in _LITERAL.finditer(words):
        try:
            value = ast.literal_eval(match.group())
        except (SyntaxError, ValueError):
            continue
        if isinstance(value, dict):
            literals.append((match.start(), {str(k): str(v) for k, v in value.items()}))
            words = words[: match.start()] + " " * len(match.group()) + words[match.end() :]
    return words, literals


def mentions(low: str, literals: Sequence[tuple[int, Options]]) -> tuple[Mention, ...]:
    """Every thing that the words (lower case, literals blanked out) name, in their order."""
    return tuple(_walk(low, _events(low), literals))


def _events(low: str) -> list[_Event]:
    events = [_Event(start=m.start(), end=m.end(), kind="sentence") for m in SENTENCE.finditer(low)]
    for m in _VERB.finditer(low):
        intent = Intent(m.lastgroup or "")
        if not _DENIED.search(low, max(0, m.start() - 40), m.start()) or intent is Intent.KEEP:
            events.append(_Event(start=m.start(), end=m.end(), kind="verb", intent=intent))
    events += _things(low)
    for kind, pattern in (("except", _EXCEPT), ("condition", _CONDITION), ("address", ADDRESS)):
        events += [_Event(start=m.start(), end=m.end(), kind=kind) for m in pattern.finditer(low)]
    return sorted(events, key=lambda e: (e.start, -e.end))


def _things(low: str) -> Iterator[_Event]:
    things = []
    for m in _PRODUCT.finditer(low):
        plural = bool(m.group(2)) or m.group(1).endswith("shelves")
        things.append(_Event(start=m.start(), end=m.end(), kind="thing", products=_ALIASES[m.group(1)], many=plural))
    yield from things
    for m in _LAST_NAMED.finditer(low):  # "return the cheaper one" speaks of the thing named last
        named = [thing for thing in things if thing.end <= m.start()]
        if named:
            many = m.group(1) == "ones"
            yield _Event(start=m.start(1), end=m.end(1), kind="thing", products=named[-1].products, many=many)
    for m in _EVERYTHING.finditer(low):
        yield _Event(start=m.start(), end=m.end(), kind="thing", many=True)


def _walk(low: str, events: list[_Event], literals: Sequence[tuple[int, Options]]) -> Iterator[Mention]:
    last: Intent | None = None
    intent: Intent | None = None
    fallback = excepted = False
    for index, event in enumerate(events):
        if event.kind == "sentence":
            last, intent, fallback, excepted = intent or last, None, False, False
        elif event.kind == "condition":
            fallback = True
        elif event.kind == "verb":
            intent, excepted = _intent_of_verb(events, index), False
        elif event.kind == "except":
            excepted = True
        elif event.kind == "thing" and (event.products or intent is not None):
            # *everything* needs a verb before it: "make sure everything is addressed" names no thing
            found = intent or _intent_of_thing(low, events, index, last)
            if found in (Intent.RETURN, Intent.CANCEL) and _COMPANION.search(
                low, max(0, event.start - 20), event.start
            ):
                found = None  # "the backpack that came with the vacuum" speaks of the backpack
            mention = _mention(low, events, index, literals)
            yield replace(mention, intent=found, fallback=fallback, excepted=excepted)


def _intent_of_verb(events: list[_Event], index: int) -> Intent | None:
    """A verb's intent; changing an address is another thing than changing an item."""
    intent = events[index].intent
    if intent is not Intent.CHANGE:
        return intent
    for later in events[index + 1 :]:
        if later.kind in ("thing", "verb", "sentence"):
            return intent
        if later.kind == "address":
            return Intent.ADDRESS
    return intent


def _intent_of_thing(low: str, events: list[_Event], index: int, last: Intent | None) -> Intent | None:
    """The intent of a thing named before any verb: its sentence's first verb, else the next sentence's, else the last.

    A thing in a question ("how many t-shirts are there") has none.
    """
    question = _QUESTION.search(low, _sentence_start(events, index), events[index].start)
    sentences = 0
    for event in events[index + 1 :]:
        if event.kind == "sentence":
            sentences += 1
            if sentences > 1 or question:
                break
        elif event.kind == "verb" and event.intent is not Intent.KEEP:
            return event.intent
        elif event.kind == "thing" and sentences:
            break
    return None if question else last


def _mention(low: str, events: list[_Event], index: int, literals: Sequence[tuple[int, Options]]) -> Mention:
    event = events[index]
    before = low[_left(events, index) : event.start]
    after = low[event.end : _right(low, events, index)]
    mine = [value for at, value in literals if event.end <= at <= event.end + len(after)]
    have, wish = _DETERMINER.sub("", before), after
    if _WHICH.search(before):  # "if asked for which lamp, it is the white one" describes what the customer has
        have, wish = f"{have} {after}", ""
    elif _INTO.search(before):  # "exchange it for a red lamp" describes what it should become
        have, wish = "", f"{have} ; {after}"
    else:
        described = _BECOMES.match(after)
        if described:  # "the bottle (750ml) for one of 1000ml" describes it first as it is
            have, wish = f"{have} {described.group(1)}", after[described.end(1) :]
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
        order_ids=order_ids(_sentence_of(low, events, index)),
        held=_held(low, events, index),
        start=event.start,
    )


def _held(low: str, events: list[_Event], index: int) -> str | None:
    """Whether the words around a thing, or else its verb, say that it is still to come or has arrived."""
    event = events[index]
    left = _left(events, index) if event.products else _sentence_start(events, index)
    around = low[left : event.end] + " | " + low[event.end : event.end + 40].partition(".")[0]
    if _PENDING.search(around):
        return "pending"
    if _DELIVERED.search(around):
        return "delivered"
    verbs = [low[e.start : e.end] for e in events[:index] if e.kind == "verb" and e.intent is not Intent.KEEP]
    verb = verbs[-1] if verbs else ""
    return "pending" if verb.startswith("modif") else "delivered" if verb.startswith("exchang") else None


def _split_condition(wish: str) -> tuple[str, str]:
    """Split what is wished from what is wished *if that cannot be*."""
    match = _CONDITION.search(wish)
    if match is None:
        return wish, ""
    return wish[: match.start()], wish[match.end() :]


def _left(events: list[_Event], index: int) -> int:
    for event in reversed(events[:index]):
        if event.kind in ("verb", "thing", "sentence", "except") and event.end <= events[index].start:
            return event.end
    return 0


def _right(low: str, events: list[_Event], index: int) -> int:
    """Where the words on a thing end: at the next thing, another intent, an address, or a new line."""
    for event in events[index + 1 :]:
        if event.kind == "thing" and event.start >= events[index].end:
            return event.start
        if event.kind == "verb" and event.intent in (Intent.RETURN, Intent.CANCEL):
            return event.start
        if event.kind == "address" or (event.kind == "sentence" and "\n" in low[event.start : event.end]):
            return event.start
    return len(low)


def _sentence_start(events: list[_Event], index: int) -> int:
    return max((e.end for e in events[:index] if e.kind == "sentence"), default=0)


def _sentence_of(low: str, events: list[_Event], index: int) -> str:
    end = min((e.start for e in events[index:] if e.kind == "sentence"), default=len(low))
    return low[_sentence_start(events, index) : end]


def order_ids(text: str) -> tuple[str, ...]:
    """Order ids that a text names, as the shop writes them."""
    found = (m.group().upper() for m in ORDER_ID.finditer(text))
    return tuple(dict.fromkeys(i if i.startswith("#") else f"#{i}" for i in found))


def merged(found: Sequence[Mention]) -> tuple[Mention, ...]:
    """One mention a thing and intent: what is said of it in several places is put together, in the words' order."""
    result: list[Mention] = []
    places: dict[tuple[frozenset[str], Intent | None], int] = {}
    for mention in found:
        key = (mention.products, mention.intent)
        if mention.wish_options is not None or key not in places:
            places[key] = len(result)
            result.append(mention)
        else:
            result[places[key]] = _together(result[places[key]], mention)
    return tuple(_shared_wishes(result))


def _together(old: Mention, new: Mention) -> Mention:
    told = f" ; {new.have} ; {new.wish}"
    describes = new.intent in (Intent.RETURN, Intent.CANCEL) or not new.wish.strip(" .")
    return replace(
        old,
        have=old.have + told if describes else old.have,
        wish=old.wish if new.fallback else old.wish + told,
        otherwise=f"{old.otherwise} ; {new.otherwise}" + (told if new.fallback else ""),
        many=old.many or new.many,
        only=old.only or (new.only and not new.fallback),
        order_ids=tuple(dict.fromkeys(old.order_ids + new.order_ids)),
        held=old.held or new.held,
        excepted=old.excepted or new.excepted,
    )


def _shared_wishes(found: list[Mention]) -> Iterator[Mention]:
    """Give a thing without a wish of its own that of the next one: "the bed and the chair to the cheapest version"."""
    for index, mention in enumerate(found):
        bare = all(word.strip(",;") in _CONNECTIVES for word in mention.wish.split())
        follower = found[index + 1] if index + 1 < len(found) else None
        if bare and follower is not None and follower.intent is mention.intent and mention.wish_options is None:
            yield replace(mention, wish=follower.wish, otherwise=follower.otherwise)
        else:
            yield mention
