"""Which run is meant by the text that stands for it."""

from typing import Final

from stretto.record.model import Run
from stretto.store.sqlite import Store
from stretto.types.errors import UsageError

LAST: Final = "last"
"""Stands for the newest run."""


def find_run(store: Store, wanted: str) -> Run:
    """The run that was meant: by id, by its beginning, by workflow_run_id, or the newest for `last`."""
    return store.get(run_id_of(store, wanted))


def run_id_of(store: Store, wanted: str) -> str:
    """The id to look for."""
    if wanted != LAST:
        return wanted
    newest = store.list(limit=1)
    if not newest:
        raise UsageError(f"{store.path} holds no runs yet; `stretto run FILE` makes one")
    return newest[0].id
