"""One thread: what is computed here is tiny, and the machine is shared."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import stretto
from stretto.learn import as_module
from stretto.learn.differentiable.module import DifferentiableWorkflow
from tests.unit.learn.differentiable.elsewhere import Elsewhere
from tests.unit.learn.differentiable.there_and_back import COMPONENTS, STEPS, Load

torch.set_num_threads(1)


@pytest.fixture
def there(tmp_path: Path) -> Iterator[Elsewhere]:
    """The server of `middle`."""
    folder = tmp_path / "there"
    folder.mkdir()
    (tmp_path / "home").mkdir()
    (folder / "components.py").write_text(COMPONENTS)
    (folder / "workflow.yaml").write_text(STEPS.format(components="components: components.py", more=""))
    standing = Elsewhere(stretto.load(folder / "workflow.yaml").component("middle"))
    with standing:
        yield standing


@pytest.fixture(params=["http", "grpc"])
def load(request: pytest.FixtureRequest, there: Elsewhere, tmp_path: Path) -> Iterator[Load]:
    """The workflow as a module, its middle elsewhere, or at home."""
    made: list[DifferentiableWorkflow] = []

    def loaded(*, home: bool = False, more: str = "", steps: str = STEPS, **options: Any) -> DifferentiableWorkflow:
        folder = tmp_path / "home"
        url = getattr(there, request.param)
        text = COMPONENTS if home else COMPONENTS.replace('"middle"', '"unused"')
        (folder / "components.py").write_text(text)
        listed = "components: components.py"
        if not home:
            listed = f'components:\n  - components.py\n  - middle: {{ kind: acp, url: "{url}" }}'
        (folder / "workflow.yaml").write_text(steps.format(components=listed, more=more))
        made.append(as_module(stretto.load(folder / "workflow.yaml", store=folder / "runs.db"), **options))
        return made[-1]

    yield loaded
    for each in made:
        each.close()
