"""A component elsewhere takes part in `.backward()`: its gradients are those of the same module at home."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import stretto
from stretto.acp.names import Verb
from stretto.learn import as_module
from stretto.learn.differentiable.module import DifferentiableWorkflow
from tests.unit.learn.differentiable.elsewhere import Elsewhere

COMPONENTS = """
from typing import Annotated, TypedDict

import torch
from torch import Tensor, nn

import stretto
from stretto import Shape


class Told(TypedDict):
    state: Annotated[Tensor, Shape(2, 3)]
    score: Annotated[Tensor, Shape()]


@stretto.differentiable("first", inputs=["x"])
class First(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(4, 6)

    def forward(self, x: Annotated[Tensor, Shape(4)]) -> Annotated[Tensor, Shape(2, 3)]:
        return torch.tanh(self.net(x)).reshape(-1, 2, 3)


@stretto.differentiable("middle", inputs=["state"], context=["factor"], seed=1, inline=True)
class Middle(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(3, 3)

    def forward(self, state: Annotated[Tensor, Shape(2, 3)], factor: list[float]) -> Told:
        hidden = torch.relu(self.net(state)) * torch.tensor(factor)[:, None, None]
        return {"state": torch.sigmoid(hidden), "score": hidden.sum((1, 2))}


@stretto.differentiable("last", inputs=["state", "score"], context=["reference"], rewards=["near"], seed=2)
class Last(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(6, 1)

    def forward(
        self, state: Annotated[Tensor, Shape(2, 3)], score: Annotated[Tensor, Shape(absent=0.0)],
        reference: list[float | None],
    ) -> Annotated[Tensor, Shape()]:
        wanted = torch.tensor([torch.nan if each is None else each for each in reference])
        return -((self.net(state.reshape(-1, 6))[:, 0] + 0.1 * score - wanted) ** 2)
"""

STEPS = """
stretto: 1
name: there-and-back
{components}
contract: {{ reward: {{ near: 1.0 }} }}
steps:
  - {{ name: first, component: first, input_mapping: {{ x: input.x }} }}
  - name: middle
    component: middle
    input_mapping: {{ state: steps.first.result, factor: input.factor }}
    {more}
  - name: last
    component: last
    input_mapping: {{ state: steps.middle.state, score: steps.middle.score }}
output: {{ score: steps.middle.score }}
"""

XS = [[0.5, -1.0, 2.0, 0.25], [1.5, 0.5, -0.75, 1.0], [-1.0, -2.0, 0.125, 3.0]]
REQUESTS = [
    stretto.RunRequest(input={"x": x, "factor": factor}, reference=wanted)
    for x, factor, wanted in zip(XS, [1.0, 0.5, 2.0], [1.0, 0.0, -1.0], strict=True)
]


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


Load = Callable[..., DifferentiableWorkflow]


@pytest.fixture(params=["http", "grpc"])
def load(request: pytest.FixtureRequest, there: Elsewhere, tmp_path: Path) -> Iterator[Load]:
    """The workflow as a module, its middle elsewhere, or at home."""
    made: list[DifferentiableWorkflow] = []

    def loaded(*, home: bool = False, more: str = "", **options: Any) -> DifferentiableWorkflow:
        folder = tmp_path / "home"
        url = getattr(there, request.param)
        text = COMPONENTS if home else COMPONENTS.replace('"middle"', '"unused"')
        (folder / "components.py").write_text(text)
        listed = "components: components.py"
        if not home:
            listed = f'components:\n  - components.py\n  - middle: {{ kind: acp, url: "{url}" }}'
        (folder / "workflow.yaml").write_text(STEPS.format(components=listed, more=more))
        made.append(as_module(stretto.load(folder / "workflow.yaml", store=folder / "runs.db"), **options))
        return made[-1]

    yield loaded
    for each in made:
        each.close()


def test_gradients_are_those_of_the_module_at_home(load: Load, there: Elsewhere) -> None:
    home, away = load(home=True), load()
    assert [*away.components] == ["first", "last"]
    for module in (home, away):
        outcome = module(REQUESTS)
        gradients = outcome.backward()
        assert not gradients.skipped
    for name in ("first", "last"):
        for one, other in zip(getattr(home, name).parameters(), getattr(away, name).parameters(), strict=True):
            torch.testing.assert_close(one.grad, other.grad)
    assert there.times(Verb.VJP) == 3
