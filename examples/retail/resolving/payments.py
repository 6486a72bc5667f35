"""Which payment method a customer means."""

import re
from collections.abc import Iterator
from typing import Any, Final

_KINDS: Final = re.compile(
    r"(?P<gift_card>\bgift ?cards?\b|\bgc\b)|(?P<paypal>\bpaypal\b)|(?P<visa>\bvisa\b)|(?P<mastercard>\bmaster ?card\b)"
    r"|(?P<amex>\bamex\b|\bamerican express\b)|(?P<other>\bother (?:credit )?card\b|\bdifferent card\b)"
    r"|(?P<original>\boriginal (?:payment|method|card)\w*)|(?P<credit_card>\bcredit ?cards?\b)"
)
_ABOUT_PAYING: Final = re.compile(
    r"\b(?:pay\w*|refund\w*|us(?:e|ing)|prefer\w*|difference|cover|charge\w*|via|method|go(?:es)? to|fine|money)\b"
)
_NOT_PAYING: Final = re.compile(r"\bbalance\b|\bcredit left\b|\bhow much\b")
_SENTENCE: Final = re.compile(r"(?<=[.!?;])\s+|\n+")
_CHANGE_OF_MIND: Final = re.compile(r"\bchange your mind\b")


def stated(text: str) -> list[str]:
    """Kinds of payment the words ask for, the dearest first; a change of mind puts the last first."""
    kinds: list[str] = []
    for sentence in _SENTENCE.split(text):
        if _NOT_PAYING.search(sentence) or not _ABOUT_PAYING.search(sentence):
            continue
        mind = _CHANGE_OF_MIND.search(sentence)
        found = [(m.start(), m.lastgroup or "") for m in _KINDS.finditer(sentence)]
        if mind:
            after = [kind for at, kind in found if at > mind.start()]
            kinds = after + kinds if after else kinds
        kinds += [kind for _, kind in found]
    return list(dict.fromkeys(kinds))


def candidates(kinds: list[str], methods: dict[str, Any], original: str) -> Iterator[str]:
    """Ids of the customer's methods in the order of the wishes, the original method last."""
    for kind in kinds:
        if kind == "original":
            yield original
        elif kind == "other":
            yield from (i for i, m in methods.items() if m["source"] == "credit_card" and i != original)
        elif kind in ("visa", "mastercard"):
            yield from (i for i, m in methods.items() if m.get("brand") == kind)
        else:
            same = [i for i, m in methods.items() if m["source"] == kind]
            yield from sorted(same, key=lambda i: i != original)
    yield original


def for_refund(kinds: list[str], methods: dict[str, Any], original: str) -> str:
    """Where a return's money goes: the shop refunds to the original method or a gift card only."""
    for method in candidates(kinds, methods, original):
        if method == original or methods[method]["source"] == "gift_card":
            return method
    return original


def for_difference(kinds: list[str], methods: dict[str, Any], original: str, price: float) -> str:
    """What pays (or takes back) a price difference; a gift card must hold enough."""
    for method in candidates(kinds, methods, original):
        known = methods.get(method)
        if known is None or known["source"] != "gift_card" or known["balance"] >= price:
            return method
    return original
