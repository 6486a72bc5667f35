"""What the engine tells whoever keeps the record. It stands here, beside its models."""

from typing import Protocol

from stretto.record.model import EffectRecord, Run, StepRecord
from stretto.types.enums import Durability


class Journal(Protocol):
    """One run's way into the store. Its writer holds the run's epoch: a stale writer is refused, never merged."""

    def step(self, record: StepRecord) -> None:
        """Write a finished step behind, with a bounded lag."""
        ...

    async def intent(self, effect: EffectRecord) -> None:
        """Commit an intent, and everything written before it, before returning."""
        ...

    async def receipt(self, effect: EffectRecord) -> None:
        """Commit a receipt before returning."""
        ...

    async def seal(self, run: Run) -> None:
        """Keep the ended run; committed on return unless its durability is ``none``."""
        ...


class Recorder(Protocol):
    """Where runs are kept."""

    async def open(self, run: Run, durability: Durability) -> Journal:
        """Begin a run's record; under ``step`` its acceptance is committed on return."""
        ...
