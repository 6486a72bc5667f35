"""Answers of pure steps outside that are kept with a batch: asked in one pass over it, they stand in the later ones.

Nobody is called and no state of a run is made for an answer that stands, which is most of what a pass over rules costs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import msgspec

from stretto.plan.model import CallOp
from stretto.record.model import StepRecord
from stretto.types.enums import Effect
from stretto.types.ids import RunId, StepPath
from stretto.types.json import Json

CALLS: Final = "call"
"""The capability of components that call others, whose records would be missing."""

Key: TypeAlias = tuple[str, int, bytes]
"""A step's place, the request whose run it is, and what it was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """An answer, and how it is recorded in the run that asked."""

    output: Json
    record: StepRecord
    run_id: RunId


class KeptAnswers:
    """Of one batch."""

    def __init__(self) -> None:
        self._of: dict[Key, Kept] = {}

    def get(self, key: Key | None) -> Kept | None:
        """What was answered; None for what has not been asked, or cannot be a key."""
        return None if key is None else self._of.get(key)

    def put(self, key: Key, kept: Kept) -> None:
        """Keep an answer."""
        self._of[key] = kept


class Stood:
    """Answers that stood in some rows of one step. Their records are made when somebody asks for them."""

    def __init__(self, answers: Sequence[tuple[int, StepPath, Kept]], at_ms: float) -> None:
        """Of each row its life, its path and what stood there; `at_ms` after the runs began."""
        self._answers = answers
        self._at_ms = at_ms

    @property
    def records(self) -> Iterator[tuple[int, list[StepRecord]]]:
        """As a replay marks a response that it takes over: `reused_from` names the run that asked."""
        for life, path, kept in self._answers:
            yield life, [self._marked(path, kept)]

    def _marked(self, path: StepPath, kept: Kept) -> StepRecord:
        at = self._at_ms
        return msgspec.structs.replace(kept.record, path=path, reused_from=kept.run_id, started_ms=at, ended_ms=at)


def may_be_kept(op: CallOp) -> bool:
    """Whether a step's answers may stand: it is pure, what it answers is all that it does, and no run has its own."""
    is_pure = op.effect is Effect.PURE and not op.action_field
    return is_pure and not op.per_run and CALLS not in op.component.card.capabilities
