"""Mentions of one thing put together."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from words.events import Intent
from words.mentions import Mention

_CONNECTIVES: Final = frozenset({"", "and", "or", "the", "your"})


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
