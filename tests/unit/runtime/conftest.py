"""A workflow made of a file's text and of components that the test holds in its hands."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stretto.components.python.decorator import component_of
from stretto.runtime.catalog import ComponentCatalog
from stretto.runtime.load import Loader
from stretto.runtime.workflow import Workflow
from stretto.store.sqlite import Store
from stretto.types.protocols import Component

WorkflowOf = Callable[..., Workflow]
"""`(text, *components)`: decorated functions and classes, or anything with a card."""

Write = Callable[[dict[str, str]], Path]
"""`{file name: text}` → the path of the first."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "runs.db") as store:
        yield store


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    monkeypatch.chdir(tmp_path)  # where runs are kept when nobody says otherwise

    def written(files: dict[str, str]) -> Path:
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        return tmp_path / next(iter(files))

    return written


@pytest.fixture
def workflow_of(write: Write, store: Store) -> WorkflowOf:
    def made(text: str, *components: Any) -> Workflow:
        found = [component_of(each) or each for each in components]
        return Workflow(Loader(write({"workflow.yaml": text})), catalog_of(*found), store)

    return made


def catalog_of(*components: Component) -> ComponentCatalog:
    return ComponentCatalog({each.card.name: each for each in components})
