"""What the conditions in force at one place of a workflow make sure of, as far as can be seen without running it."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from stretto.plan.model import FIRST_FREE_SLOT


class _Guard(msgspec.Struct, frozen=True):
    text: str
    slots: frozenset[int]


class Guards:
    """Conditions around the place that is being compiled, and those of the steps that write what is read there."""

    def __init__(self) -> None:
        self._in_force: list[_Guard] = []
        self._of_writers: dict[int, frozenset[str]] = {}

    def writes_under(self, slot: int, condition: str) -> None:
        """Note the condition of the step that writes a slot."""
        self._of_writers[slot] = _parts(condition)

    @contextmanager
    def under(self, condition: str, slots: frozenset[int]) -> Iterator[None]:
        """Inside, the condition is true: its slots are those that it reads."""
        self._in_force.append(_Guard(condition, slots))
        try:
            yield
        finally:
            self._in_force.pop()

    def cover(self, path: str, slots: frozenset[int]) -> bool:
        """Whether what a path reads was asked about: itself, the step that writes it, or that step's own condition.

        A null makes a condition false, so what one of those in force reads is surely there. A root such as `input`
        is one slot with many fields: of those the path itself must be asked about.
        """
        if any(path in guard.text for guard in self._in_force):
            return True
        said = frozenset[str]().union(*(_parts(guard.text) for guard in self._in_force))
        asked = frozenset[int]().union(*(guard.slots for guard in self._in_force))
        return all(
            slot >= FIRST_FREE_SLOT and (slot in asked or (slot in self._of_writers and self._of_writers[slot] <= said))
            for slot in slots
        )


def _parts(condition: str) -> frozenset[str]:
    return frozenset(part.strip() for part in condition.split("&&"))
