"""A place where values cross into a domain, and a walk to the values that stand there."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from stretto.plan.meaning.domain import Domain
from stretto.types.json import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """One field of what crosses, whose values belong to a domain."""

    at: str
    """As the contract names it: ``executor.intent``."""
    path: tuple[str, ...]
    """Names from the top of the object that crosses; lists on the way, and at its end, are gone through."""
    domain: Domain
    exact: Mapping[str, str]
    """Text → value: what needs no alignment, since it is a value or the declared translation of one."""
    untranslated: frozenset[str] = frozenset()
    """Values of the domains it comes from that nobody translates: they mean nothing here, whatever they sound like."""


class Side(StrEnum):
    """On which side of a step or workflow a place stands."""

    GIVEN = "given"
    """In what it is asked."""
    GIVES = "gives"
    """In what it answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A place where a domain is held, for people."""

    at: str
    domain: Domain
    side: Side


def exact_of(domain: Domain, sources: frozenset[str]) -> dict[str, str]:
    """What needs no alignment when a value comes from these domains; from any, where nothing says from which.

    A word that is a value here keeps its meaning, unless all that comes is from domains which mean another by it. A
    word that two domains mean differently is in nobody's table.
    """
    own = {value: value for value in domain.values}
    translated: dict[str, str] = {}
    unclear: set[str] = set()
    for name in sorted(sources - {domain.name}) or (domain.translations if not sources else ()):
        for there, here in domain.translations.get(name, {}).items():
            if translated.setdefault(there, here) != here:
                unclear.add(there)
    for word in unclear:
        del translated[word]
    is_foreign = bool(sources) and domain.name not in sources
    return {**own, **translated} if is_foreign else {**translated, **own}


def rewritten(value: Json, path: Sequence[str], change: Callable[[Json], Json]) -> Json:
    """The value with what stands at a path changed, items of lists one by one; copied only where it changes.

    What is null or not there stays so.
    """
    if value is None:
        return None
    if type(value) is list:
        items = [rewritten(item, path, change) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    if not path:
        return change(value)
    if type(value) is not dict:
        return value
    old = value.get(path[0])
    if old is None:
        return value
    new = rewritten(old, path[1:], change)
    return value if new is old else {**value, path[0]: new}
