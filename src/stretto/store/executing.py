"""Which runs this process is at work on: it takes none of them over from itself, and holds on to no other."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakValueDictionary

from stretto.store.journal import StepJournal
from stretto.types.errors import StoreError
from stretto.types.ids import RunId


class Executing:
    """Journals that somebody still writes, by run. Used from any thread.

    A journal that was let go of without a seal (its seal failed, its task died) executes nothing: the lease of its run
    is not renewed, and whoever looks finds the run interrupted.
    """

    def __init__(self) -> None:
        self._journals: WeakValueDictionary[RunId, StepJournal] = WeakValueDictionary()
        self._claimed: set[RunId] = set()
        """Runs that are being taken over and have no journal yet."""
        self._claiming = threading.Lock()

    def begin(self, run_id: RunId, journal: StepJournal) -> None:
        """Somebody is going to write the run."""
        self._journals[run_id] = journal

    @contextmanager
    def claim(self, run_id: RunId) -> Iterator[None]:
        """Hold a run while it is taken over; raises StoreError when this process is at work on it already."""
        with self._claiming:
            journal = self._journals.get(run_id)
            if run_id in self._claimed or (journal is not None and not journal.ended):
                raise StoreError(
                    f"run {run_id} is being executed by this very process; wait until it has ended", retryable=True
                )
            self._claimed.add(run_id)
        try:
            yield
        finally:
            self._claimed.discard(run_id)

    def run_ids(self) -> list[RunId]:
        """Runs whose leases are to be renewed."""
        begun = self._journals.valuerefs()  # a copy: other threads begin runs while this one goes through them
        held = ((ref.key, ref()) for ref in begun)
        return [
            *self._claimed.copy(),
            *(run_id for run_id, journal in held if journal is not None and not journal.ended),
        ]
