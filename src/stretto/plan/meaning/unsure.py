"""Places of which nothing says that they are there: what is asked or answered leaves room for any field.

A domain at a mistyped one is held nowhere, and no schema can tell. What can: nobody in the file speaks of such a field.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from stretto.plan.fields import Reader
from stretto.plan.meaning.domain import Domain
from stretto.spec.model import StepSpec
from stretto.spec.source import Located
from stretto.spec.suggest import nearest
from stretto.types.json import Json

_WORD = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsure:
    """A place that may be there."""

    at: Located[str]
    name: str
    """Of the field."""
    domain: Domain
    whose: str
    """``step 'planner'``, for messages."""
    head: str
    """What a path to it begins with where it is read: ``steps.planner``; empty where no path leads to it."""
    declared: frozenset[str]
    """Fields that are surely there."""


def note_unsure(places: Iterable[Unsure], steps: Sequence[StepSpec], reader: Reader) -> None:
    """Say which places nothing speaks of: no expression, alias, merge or output that stands in has such a name.

    Where no path leads to a place, or all that is there is read at once, only one near to another name is told.
    """
    words = {word for text in (*reader.texts, *_spoken_of(steps)) for word in _WORD.findall(text)}
    for place in places:
        if place.name in words:
            continue
        near = nearest(place.name, sorted(place.declared | _read_at(place.head, reader.texts)))
        if not near and (not place.head or place.head in reader.texts):
            continue
        hint = f"; did you mean `{place.at.value.split('.')[0]}.{near}`?" if near else ""
        reader.note(
            place.at.span,
            f"nothing says that {place.whose} has a field '{place.name}', where the domain '{place.domain.name}' "
            f"holds, and nothing else names one{hint}",
        )


def _spoken_of(steps: Sequence[StepSpec]) -> Iterator[str]:
    """What names fields and is no expression."""
    for step in steps:
        yield from (alias.field.value for alias in step.output_mapping)
        for merge in step.merge:
            yield from (source.value for source in merge.sources)
        fallback = None if step.resilience is None else step.resilience.fallback
        if fallback is not None and fallback.output is not None:
            yield from _names_in(fallback.output.value)


def _names_in(value: Json) -> Iterator[str]:
    """The names of all fields in a value."""
    if isinstance(value, dict):
        yield from value
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _names_in(inner)


def _read_at(head: str, texts: Iterable[str]) -> set[str]:
    """Fields that expressions read below a head."""
    if not head:
        return set()
    below = re.compile(rf"(?<![\w.]){re.escape(head)}\.([^\W\d]\w*)")
    return {name for text in texts for name in below.findall(text)}
