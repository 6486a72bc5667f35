"""A workflow whose middle is in another process, in JAX or in PyTorch, has the gradients that it has with all at home,
and learns."""

import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import torch

import stretto
from stretto.acp.projection import Verdict
from stretto.learn import as_module
from stretto.learn.differentiable.module import DifferentiableWorkflow
from tests.e2e.test_acp_training import Server

pytestmark = pytest.mark.ci

AGENTS: Final = Path(__file__).parents[2] / ".venv-agents" / "bin" / "python"

SCORER: Final = Path(__file__).parent / "agents" / "jax_scorer.py"

COMPONENTS: Final = """
import math
from typing import Annotated, TypedDict

import torch
from torch import Tensor, nn

import stretto
from stretto import Shape

State = Annotated[Tensor, Shape(6)]


class Told(TypedDict):
    score: Annotated[Tensor, Shape()]
    told: Annotated[Tensor, Shape(4)]


@stretto.differentiable("first", inputs=["x"])
class First(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(3, 6)

    def forward(self, x: Annotated[Tensor, Shape(3)]) -> State:
        return self.net(x)


@stretto.differentiable("scorer", inputs=["state"], context=["factor"])
class Scorer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        weights = [[math.sin(row + 2 * column) for column in range(4)] for row in range(6)]
        self.weights = nn.Parameter(torch.tensor(weights), requires_grad=False)

    def forward(self, state: State, factor: list[float]) -> Told:
        hidden = torch.relu(state @ self.weights) * torch.tensor(factor)[:, None]
        return {"score": torch.tanh(hidden).sum(1), "told": hidden.softmax(1)}


@stretto.differentiable("last", inputs=["score", "told"], context=["reference"], rewards=["near"], seed=2)
class Last(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(4, 1)

    def forward(
        self, score: Annotated[Tensor, Shape()], told: Annotated[Tensor, Shape(4)], reference: list[float | None]
    ) -> Annotated[Tensor, Shape()]:
        wanted = torch.tensor([torch.nan if each is None else each for each in reference])
        return -((self.net(told)[:, 0] + 0.3 * score - wanted) ** 2)
"""

WORKFLOW: Final = """
stretto: 1
name: far
components: {components}
contract: {{ reward: {{ near: 1.0 }} }}
steps:
  - {{ name: first, component: first, input_mapping: {{ x: input.x }} }}
  - name: scorer
    component: scorer
    input_mapping: {{ state: steps.first.result, factor: input.factor }}
    resilience: {{ timeout: 20s, retry: {{ attempts: 2 }} }}
  - name: last
    component: last
    input_mapping: {{ score: steps.scorer.score, told: steps.scorer.told }}
"""

REQUESTS: Final = [
    stretto.RunRequest(
        input={"x": [math.sin(row), math.cos(3 * row), 0.1 * row - 1.0], "factor": 1.0 + row % 3}, reference=row % 2
    )
    for row in range(16)
]


@pytest.fixture(params=["jax", "torch over http", "torch over grpc"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where the scorer is."""
    if request.param != "jax":
        running = Server(tmp_path / "there", COMPONENTS)
        yield f"acp+{running.told[request.param.rpartition(' ')[2]]}#scorer"
        running.stop()
        return
    python = next((each for each in (AGENTS, Path(sys.executable)) if _has_jax(each)), None)
    if python is None:
        pytest.skip("jax is not installed, neither in .venv-agents nor here; pip install jax")
    with subprocess.Popen([python, SCORER], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"acp+http://127.0.0.1:{process.stdout.readline().strip()}"
        process.terminate()


def _has_jax(python: Path) -> bool:
    return (
        python.exists()
        and subprocess.run([python, "-c", "import jax"], capture_output=True, check=False).returncode == 0
    )


def loaded(folder: Path, components: str) -> DifferentiableWorkflow:
    folder.mkdir()
    text = COMPONENTS if components == "components.py" else COMPONENTS.replace('"scorer"', '"unused"')
    (folder / "components.py").write_text(text)
    (folder / "workflow.yaml").write_text(WORKFLOW.format(components=components))
    return as_module(stretto.load(folder / "workflow.yaml", store=folder / "runs.db"), check_remote=4)


def test_gradients_are_those_at_home_and_what_is_around_it_learns(url: str, tmp_path: Path) -> None:
    torch.set_num_threads(1)
    home = loaded(tmp_path / "home", "components.py")
    away = loaded(tmp_path / "away", f'[components.py, {{ scorer: {{ kind: acp, url: "{url}" }} }}]')
    outcomes = [each(REQUESTS) for each in (home, away)]
    for outcome in outcomes:
        assert not outcome.backward().skipped
    torch.testing.assert_close(outcomes[0].rewards, outcomes[1].rewards, rtol=1e-5, atol=1e-6)
    ours = dict(away.named_parameters())
    assert any(name.startswith("first.") for name in ours)
    for name, each in home.named_parameters():
        if not name.startswith("scorer."):
            torch.testing.assert_close(ours[name].grad, each.grad, rtol=1e-4, atol=1e-5)
    before = outcomes[1].rewards.mean().item()
    optimizer = torch.optim.Adam(away.parameters(), lr=0.05)
    for _ in range(20):
        optimizer.zero_grad()
        outcome = away(REQUESTS)
        assert not outcome.backward().skipped
        optimizer.step()
    assert away(REQUESTS).rewards.mean().item() > 0.7 * before
    checked = away.remote_checks["scorer"].came_to
    assert checked[Verdict.AGREES] > 0
    assert checked[Verdict.LIES] == 0
    away.close()
    home.close()
