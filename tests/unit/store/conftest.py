from collections.abc import Iterator
from pathlib import Path

import pytest

from stretto.store.sqlite import Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store(path) as store:
        yield store


@pytest.fixture
def other(path: Path) -> Iterator[Store]:
    """A second store object on the same file, as another process would have it."""
    with Store(path) as store:
        yield store
