"""A store that says what it acknowledged, and kills its process at a chosen one of the moments that it sees.

Every run passes, in this order: acceptance; for each write its intent and its receipt; each step's record; the seal.
Each of them is two moments, before it is handed over and after it was acknowledged. Between an intent's end and a
receipt's beginning lies the call itself, which a delay after either reaches.
"""

import os
import signal
import sys
import threading

import msgspec

from stretto.record.model import EffectRecord, Run, StepRecord
from stretto.store.journal import RunJournal
from stretto.store.sqlite import Claim, Store
from stretto.types.enums import Durability


def say(*words: str) -> None:
    """Tell the test, at once."""
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()


class Tripwire:
    """Kills this process at a moment: the `at`-th that passes, counted from 1, or so many seconds after it."""

    def __init__(self, at: int, after_s: float) -> None:
        self._at = at
        self._after_s = after_s
        self._passed = 0

    def pass_by(self) -> None:
        """A moment passes."""
        self._passed += 1
        if self._passed != self._at:
            return
        if self._after_s:
            timer = threading.Timer(self._after_s, kill)
            timer.daemon = True
            timer.start()
        else:
            kill()


def kill() -> None:
    """End this process as the system ends one: nothing is flushed, closed or said."""
    os.kill(os.getpid(), signal.SIGKILL)


class TrippedJournal:
    """A journal between two moments of a tripwire."""

    def __init__(self, journal: RunJournal, wire: Tripwire, run_id: str) -> None:
        self._journal = journal
        self._wire = wire
        self._run_id = run_id

    def step(self, record: StepRecord) -> None:
        self._wire.pass_by()
        self._journal.step(record)
        self._wire.pass_by()

    async def intent(self, effect: EffectRecord) -> None:
        self._wire.pass_by()
        await self._journal.intent(effect)
        say("intended", self._run_id, effect.path)
        self._wire.pass_by()

    async def receipt(self, effect: EffectRecord) -> None:
        self._wire.pass_by()
        await self._journal.receipt(effect)
        say("received", self._run_id, effect.path)
        self._wire.pass_by()

    async def seal(self, run: Run) -> None:
        self._wire.pass_by()
        await self._journal.seal(run)
        say("sealed", self._run_id, str(run.status))
        self._wire.pass_by()


class TrippedStore(Store):
    """A store whose journals are tripped."""

    wire = Tripwire(0, 0.0)

    async def open(self, run: Run, durability: Durability) -> TrippedJournal:  # type: ignore[override]  # a wrapper
        self.wire.pass_by()
        journal = await super().open(run, durability)
        say("accepted", run.id)
        self.wire.pass_by()
        return TrippedJournal(journal, self.wire, run.id)

    def claim(self, run_id: str, owner: str = "") -> Claim:
        self.wire.pass_by()
        claim = super().claim(run_id, owner)
        say("claimed", claim.run.id)
        self.wire.pass_by()
        tripped = TrippedJournal(claim.journal, self.wire, claim.run.id)
        return msgspec.structs.replace(claim, journal=tripped)
