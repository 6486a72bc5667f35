"""The store that a verb reads."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stretto.runtime.load import store_path
from stretto.store.connect import is_there
from stretto.store.sqlite import Store
from stretto.types.errors import UsageError


@contextmanager
def opened(given: Path | None) -> Iterator[Store]:
    """The store, which must be there; closed at the end."""
    path = store_path(given)
    if not is_there(path):
        raise UsageError(
            f"there is no store at {path}; `stretto run` makes one, --store PATH or $STRETTO_STORE names another"
        )
    with Store(path) as store:
        yield store
