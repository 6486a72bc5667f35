"""Workflows of the tests: modules in float64, so that what was computed by hand is compared to the last digits."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import torch
from torch import Tensor

import stretto
from stretto.learn import as_module
from stretto.learn.differentiable.module import DifferentiableWorkflow

Grads: TypeAlias = dict[str, Tensor]

COMPONENTS = """
from typing import Annotated, Any, TypedDict

import torch
from annotated_types import Len
from torch import Tensor, nn

import stretto
from stretto import OneOf, Shape

Row = Annotated[Tensor, Shape(2, dtype="float64")]
Number = Annotated[Tensor, Shape(dtype="float64")]


class Told(TypedDict):
    state: Row
    score: Number


def linear(n: int, m: int) -> nn.Linear:
    return nn.Linear(n, m).double()


@stretto.differentiable("first", inputs=["x"])
class First(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = linear(2, 2)

    def forward(self, x: Row) -> Told:
        state = torch.tanh(self.net(x))
        return {"state": state, "score": state.sum(-1)}


@stretto.differentiable("second", inputs=["state"], seed=1)
class Second(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = linear(2, 2)

    def forward(self, state: Annotated[Tensor, Shape(2, dtype="float64", absent=0.25)]) -> Told:
        state = torch.tanh(self.net(state)) * 2
        return {"state": state, "score": state.sum(-1)}


@stretto.differentiable("pool", inputs=["states"])
def pool(states: Annotated[Tensor, Shape(3, 2, dtype="float64")]) -> Row:
    return states.prod(1)


@stretto.differentiable("chooser", inputs=["state"], chooses={"way": ("a", "b", "c")})
class Chooser(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = linear(2, 3)

    def forward(self, state: Row) -> Tensor:
        return self.net(state)


@stretto.differentiable("worth", inputs=["score"], rewards=["worth"])
def worth(score: Annotated[Tensor, Shape(dtype="float64", absent=0.0)]) -> Number:
    return score * 1.0


@stretto.differentiable("judged", inputs=["score"], context=["reference"], rewards=["judged"])
def judged(score: Number, reference: list[float | None]) -> Number:
    return score * torch.tensor([torch.nan if each is None else each for each in reference])


@stretto.differentiable("of_way", inputs=["way"], rewards=["of_way"])
def of_way(way: Annotated[Tensor, OneOf("a", "b", "c")]) -> Annotated[Tensor, Shape()]:
    return way @ torch.tensor([1.0, 3.0, -2.0])


@stretto.reward("outside", inline=True)
def outside(way: str) -> float | None:
    return {"a": 1.0, "b": 3.0, "c": -2.0}[way]


@stretto.differentiable("both", inputs=["one"], context=["two"], rewards=["both"])
def both(one: Annotated[Tensor, OneOf("a", "b", "c")], two: list[str | None]) -> Annotated[Tensor, Shape()]:
    worth = torch.tensor([[4.0, 1.0, 0.0], [5.0, 5.0, 5.0], [0.0, -1.0, 2.0]])
    return (one * worth[:, ["abc".index(each or "a") for each in two]].T).sum(1)


@stretto.differentiable("twice", inputs=["state"], chooses={"one": ("a", "b", "c"), "two": ("a", "b", "c")})
class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = linear(2, 6)

    def forward(self, state: Row) -> dict[str, Tensor]:
        logits = self.net(state)
        return {"one": logits[:, :3], "two": logits[:, 3:]}


@stretto.differentiable("known_way", context=["way", "reference"], rewards=["known_way"])
def known_way(
    way: Annotated[Tensor, OneOf("a", "b", "c")], reference: list[float | None]
) -> Annotated[Tensor, Shape(dtype="float64")]:
    worth = way.double() @ torch.tensor([1.0, 3.0, -2.0], dtype=torch.float64)
    return worth * torch.tensor([torch.nan if each is None else each for each in reference])


@stretto.differentiable("partly", context=["way", "reference"], rewards=["partly"])
def partly(
    way: Annotated[Tensor, OneOf("a", "b", "c")], reference: list[float | None]
) -> Annotated[Tensor, Shape(dtype="float64")]:
    worth = way.double() @ torch.tensor([1.0, 3.0, -2.0], dtype=torch.float64)
    is_hidden = (way[:, 1] > 0) & torch.tensor([each is None for each in reference])
    return torch.where(is_hidden, torch.nan, worth)


@stretto.differentiable("wide", inputs=["state"], context=["ids"], chooses={"way": ("a", "b", "c")})
class Wide(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = linear(2, 3)

    def forward(
        self,
        state: Annotated[Tensor, Shape(2, 1024, dtype="float64")],
        ids: Annotated[Tensor, Shape(4, dtype="int64")],
    ) -> Tensor:
        return self.net(state.mean(-1))


@stretto.component("pays", effects="write")
async def pays(n: int) -> dict[str, int]:
    return {"n": n}


@stretto.component("same", effects="pure")
async def same(value: Any) -> dict[str, Any]:
    return {"value": value}


@stretto.component("holding", effects="pure")
class Holding:  # it belongs to the event loop in which it was opened
    async def open(self) -> None:
        self.held = {"times": 0}

    async def __call__(self) -> dict[str, int]:
        self.held["times"] += 1
        return dict(self.held)


class Rated(TypedDict):
    score: float
    grade: str


@stretto.component("rated", effects="pure")
async def rated(score: float, state: Annotated[list[float], Len(2, 2)]) -> Rated:
    return {"score": 2 * score + state[0] * state[1], "grade": "high" if score > 0 else "low"}


@stretto.component("picky_rated", effects="pure")
async def picky_rated(score: float, state: Annotated[list[float], Len(2, 2)]) -> Rated:
    if score > 0:
        raise ValueError("too much")
    return {"score": 2 * score + state[0] * state[1], "grade": "low"}


@stretto.component("worded", effects="pure")
async def worded(score: float, by: str = "") -> Rated:
    return {"score": score, "grade": by}


@stretto.component("picky", effects="pure")
async def picky(score: float) -> dict[str, float]:
    if score > 0:
        raise ValueError("too much")
    return {"score": score}
"""


def loaded(
    folder: Path, steps: str, *, head: str = "", output: str = "{done: {value: true}}", **files: str
) -> stretto.Workflow:
    """A workflow of these steps, beside the components above."""
    (folder / "components.py").write_text(COMPONENTS)
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    text = f"stretto: 1\nname: made\ncomponents: components.py\n{head}\nsteps:\n{steps}\noutput: {output}\n"
    (folder / "workflow.yaml").write_text(text)
    return stretto.load(folder / "workflow.yaml", store=folder / "runs.db")


def module_of(folder: Path, steps: str, **options: Any) -> DifferentiableWorkflow:
    """The same as a module."""
    return as_module(loaded(folder, steps, **options))


def hand(module: DifferentiableWorkflow, name: str) -> Any:
    """A component's module, to be called by hand."""
    return module.get_submodule(name)


def grads_of(module: DifferentiableWorkflow, loss: Tensor) -> Grads:
    """Of every parameter that the loss reaches, by name."""
    module.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]  # torch's own
    return {name: p.grad.clone() for name, p in module.named_parameters() if p.grad is not None}


def same(one: Grads, other: Grads, *, rtol: float = 1e-9) -> bool:
    """Whether two sets of gradients are equal but for rounding."""
    assert one.keys() == other.keys(), sorted(one.keys() ^ other.keys())
    return all(torch.allclose(one[name], other[name], rtol=rtol, atol=rtol / 1000) for name in one)


def rows(count: int) -> Sequence[dict[str, Any]]:
    """Inputs that differ."""
    torch.manual_seed(count)
    return [{"x": x.tolist(), "n": row} for row, x in enumerate(torch.randn(count, 2, dtype=torch.float64))]


def xs(inputs: Sequence[dict[str, Any]]) -> Tensor:
    """Their tensors."""
    return torch.tensor([each["x"] for each in inputs], dtype=torch.float64)
