"""The store that a verb reads, and the run that was meant."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from stretto.record.model import Run
from stretto.runtime.load import store_path
from stretto.store.sqlite import Store
from stretto.types.errors import UsageError

LAST: Final = "last"
"""Stands for the newest run."""


@contextmanager
def opened(given: Path | None) -> Iterator[Store]:
    """The store, which must be there; closed at the end."""
    path = store_path(given)
    if not path.exists():
        raise UsageError(
            f"there is no store at {path}; `stretto run` makes one, --store PATH or $STRETTO_STORE names another"
        )
    with Store(path) as store:
        yield store


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
