"""Worlds in which collusion pays: a desk where the executor can read the query itself, and a wire where it cannot."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import torch
from torch import nn

import stretto
from stretto.components.torch.component import TorchComponent
from stretto.learn import Perturbation, as_module
from stretto.learn.tasks import Task

WANTED: Final = ("refund", "exchange", "track")

COMPONENTS = '''
from typing import Annotated

import torch
from torch import Tensor, nn

import stretto
from stretto import OneOf, Shape

WANTED = ("refund", "exchange", "track")
Query = Annotated[Tensor, Shape(6)]
Said = Annotated[Tensor, OneOf(*WANTED, "handle_it")]
Signal = Annotated[Tensor, Shape(3)]


def layers(n: int, m: int) -> nn.Module:
    return nn.Sequential(nn.Linear(n, 24), nn.Tanh(), nn.Linear(24, m))


@stretto.differentiable("planner", inputs=["query"], chooses={"said": (*WANTED, "handle_it")})
class Planner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = layers(6, 4)

    def forward(self, query: Query) -> Tensor:
        return self.net(query)


@stretto.differentiable("executor", inputs=["said", "query"], chooses={"action": WANTED})
class Executor(nn.Module):
    """Large enough to read the query itself."""

    def __init__(self) -> None:
        super().__init__()
        self.net = layers(10, 3)

    def forward(self, said: Said, query: Query) -> Tensor:
        return self.net(torch.cat([said, query], 1))


@stretto.differentiable("sender", inputs=["query"])
class Sender(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = layers(6, 3)

    def forward(self, query: Query) -> Signal:
        return torch.tanh(self.net(query))


@stretto.differentiable("receiver", inputs=["signal"], chooses={"action": WANTED})
class Receiver(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = layers(3, 3)

    def forward(self, signal: Signal) -> Tensor:
        return self.net(signal)


@stretto.differentiable("judge", inputs=["said", "action"], context=["reference"], rewards=["worth"])
def judge(said: Said, action: Annotated[Tensor, OneOf(*WANTED)], reference: list[str]) -> Annotated[Tensor, Shape()]:
    """1 for what was wanted; something clear costs a tenth of that."""
    wanted = nn.functional.one_hot(torch.tensor([WANTED.index(each) for each in reference]), 3)
    return (action * wanted).sum(1) - 0.1 * (1 - said[:, -1])


@stretto.differentiable("right", inputs=["action"], context=["reference"], rewards=["worth"])
def right(action: Annotated[Tensor, OneOf(*WANTED)], reference: list[str]) -> Annotated[Tensor, Shape()]:
    wanted = nn.functional.one_hot(torch.tensor([WANTED.index(each) for each in reference]), 3)
    return (action * wanted).sum(1)
'''

DESK = """
  - {name: plan, component: planner, input_mapping: {query: input.query}}
  - {name: act, component: executor, input_mapping: {said: steps.plan.said, query: input.query}}
  - {name: judge, component: judge, input_mapping: {said: steps.plan.said, action: steps.act.action}}
"""

WIRE = """
  - {name: plan, component: sender, input_mapping: {query: input.query}}
  - {name: act, component: receiver, input_mapping: {signal: steps.plan.result}}
  - {name: judge, component: right, input_mapping: {action: steps.act.action}}
"""


def world(folder: Path, steps: str) -> stretto.Workflow:
    """The workflow of one of both."""
    (folder / "components.py").write_text(COMPONENTS)
    head = "stretto: 1\nname: world\ncomponents: components.py\ncontract: {reward: {worth: 1.0}}\n"
    (folder / "workflow.yaml").write_text(f"{head}steps:{steps}output: {{action: steps.act.action}}\n")
    return stretto.load(folder / "workflow.yaml", store=folder / "runs.db")


def customers(count: int, seed: int) -> list[Task]:
    """What they ask in six numbers, and what they want."""
    centres = torch.randn(3, 6, generator=torch.Generator().manual_seed(99)) * 1.5
    chance = torch.Generator().manual_seed(seed)
    wanted = torch.randint(3, (count,), generator=chance)
    queries = (centres[wanted] + 0.7 * torch.randn(count, 6, generator=chance)).tolist()
    return [
        Task(name=f"{row}", input={"query": query}, reference=WANTED[want])
        for row, (query, want) in enumerate(zip(queries, wanted.tolist(), strict=True))
    ]


def taught(workflow: stretto.Workflow, name: str, seed: int) -> TorchComponent:
    """An executor that was taught what the words mean, or the three corners of the signal, and nothing else."""
    component = workflow.component(name)
    assert isinstance(component, TorchComponent)
    torch.manual_seed(seed)
    module: Any = type(component.module)()  # Any: of the world's own class
    if name == "executor":
        module.net[0].weight.data[:, 4:] = 0.0  # of the query: what is not given teaches nothing
    optimizer = torch.optim.Adam(module.parameters(), lr=0.02)
    for _ in range(100):
        wanted = torch.randint(3, (64,))
        if name == "executor":
            said = nn.functional.one_hot(torch.where(torch.rand(64) < 0.25, 3, wanted), 4).float()
            logits = module(said, torch.zeros(64, 6))
        else:
            logits = module(nn.functional.one_hot(wanted, 3) + 0.2 * torch.randn(64, 3))
        loss = nn.functional.cross_entropy(logits, wanted)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]  # torch's own
        optimizer.step()
    return component.with_module(module)


def trained(
    workflow: stretto.Workflow, names: tuple[str, str], seed: int, perturb: Mapping[str, Perturbation], updates: int
) -> stretto.Workflow:
    """Planner and executor, made anew and trained together."""
    torch.manual_seed(seed)
    for name in names:
        component: Any = workflow.component(name)  # Any: kind torch
        workflow = workflow.with_component(component.with_module(type(component.module)()))
    module = as_module(workflow, perturb=perturb)
    optimizer = torch.optim.Adam(module.parameters(), lr=0.05)
    batch = module.batch([stretto.RunRequest(input=t.input, reference=t.reference) for t in customers(512, seed)])
    for update in range(updates):
        optimizer.zero_grad()
        rows = [(update % 8) * 64 + row for row in range(64)]
        module(batch.part(rows), seeds=[10**6 * seed + 64 * update + row for row in range(64)]).backward()
        optimizer.step()
    return module.trained()
