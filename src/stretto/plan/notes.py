"""What components know of themselves that a reader of the workflow should know."""

from collections.abc import Iterable, Iterator
from typing import Protocol, runtime_checkable

from stretto.plan.model import Note
from stretto.types.protocols import Component


@runtime_checkable
class TellsAtLoad(Protocol):
    """A component that was analysed when it was made: rules whose rows overlap, a cell that cannot be analysed."""

    @property
    def told_at_load(self) -> Iterable[tuple[str, str]]:
        """Places, as ``file:line:column``, and what is to be known there."""
        ...


def notes_of(components: Iterable[Component]) -> Iterator[Note]:
    """The notes of those that have any."""
    for component in components:
        if isinstance(component, TellsAtLoad):
            yield from (Note(place=place, text=text) for place, text in component.told_at_load)
