"""What of a replay stands downstream of a substitute.

A step does when it reads something that does, or when such a thing decides whether it is run at all: its condition or
that of a step around it, the list that a map goes over, the end of a loop's rounds. Its output then does too, also when
it was skipped or failed. What a run tells of its own downgrades does once such a step is, or was, downgraded.
"""

from collections.abc import Iterable
from typing import Final, Self

from stretto.engine.history import History, Mode
from stretto.plan.model import INPUT, MEMORY, RESOURCES, RUN
from stretto.record.model import Run

_SHARED_WITH_SUB: Final = frozenset({MEMORY, RESOURCES, RUN})
"""Slots that a sub-workflow's frame has from the one around it."""


class Taint:
    """Marks on one frame: on some of its slots, or on all that is run on it.

    Parallel branches share it as they share the frame: each writes slots of its own, and a step follows those that it
    reads. Bodies and sub-workflows have one of their own, as they have a frame. A run that is no replay has none.
    """

    __slots__ = ("_everywhere", "_is_whole", "_slots")

    def __init__(
        self, slots: Iterable[int] = (), *, is_whole: bool = False, everywhere: set[int] | None = None
    ) -> None:
        self._slots = set(slots)
        self._is_whole = is_whole
        self._everywhere = set[int]() if everywhere is None else everywhere
        """Marked on all frames of the run."""

    def marks(self, reads: Iterable[int]) -> bool:
        """Whether what reads these slots, and is run here, stands downstream."""
        if self._is_whole or not self._slots.isdisjoint(reads):
            return True
        return bool(self._everywhere) and not self._everywhere.isdisjoint(reads)

    def mark_run(self) -> None:
        """Mark what the run tells of itself, on all frames: its downgrades are others from now on."""
        self._everywhere.add(RUN)

    def put(self, slot: int, is_marked: bool) -> None:
        """Mark what was just written to a slot, or nothing, as downstream or not."""
        if is_marked:
            self._slots.add(slot)
        else:
            self._slots.discard(slot)

    def decide(self, reads: Iterable[int]) -> None:
        """Let all that is run here from now on hang on these slots."""
        self._is_whole = self.marks(reads)

    def of_body(self, decided_by: Iterable[int] = ()) -> Self:
        """For a body's copy of the frame, that is run because of what these slots hold."""
        return type(self)(self._slots, is_whole=self.marks(decided_by), everywhere=self._everywhere)

    def of_sub(self, inputs: Iterable[int], decided_by: Iterable[int]) -> Self:
        """For the frame of a sub-workflow with an input read from these slots."""
        slots = self._slots & _SHARED_WITH_SUB | ({INPUT} if self.marks(inputs) else set())
        return type(self)(slots, is_whole=self.marks(decided_by), everywhere=self._everywhere)


def taint_of(history: History | None, run: Run) -> Taint | None:
    """The marks that a run begins with: a replay's input, if it is not the recorded one. None when it is no replay."""
    if history is None or history.mode is not Mode.REPLAY:
        return None
    return Taint([INPUT] if bytes(run.input) != bytes(history.run.input) else ())


def marks(taint: Taint | None, reads: Iterable[int]) -> bool:
    """`Taint.marks`, also where there can be none."""
    return taint is not None and taint.marks(reads)
