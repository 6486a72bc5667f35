"""A module that is served pulls gradients back itself, and its card tells which."""

from typing import Annotated, Any, cast

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import stretto
from stretto import OneOf, Shape
from stretto.acp import tensors
from stretto.acp.names import Verb
from stretto.acp.server.cards import verbs_of
from stretto.components.python.decorator import component_of
from stretto.components.torch.component import TorchComponent
from stretto.types import card
from stretto.types.errors import Code, ComponentError
from stretto.types.ids import RunId, StepPath
from stretto.types.messages import RunInfo
from stretto.types.signals import Cotangents

RUN = RunInfo(id=RunId("r"), workflow_run_id="w@1.r", workflow="w", version="1")


@stretto.differentiable(
    "mixed",
    inputs=["state", "way"],
    context=["codes", "factor"],
    outputs={"score": Shape(), "wide": Shape(2, dtype="float64"), "places": Shape(2, dtype="int64")},
    chooses={"next": ("a", "b", "c")},
)
class Mixed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(3, 3)
        self.noise = nn.Dropout(0.9)

    def forward(
        self,
        state: Annotated[Tensor, Shape(2, 3)],
        way: Annotated[Tensor, OneOf("up", "down")],
        codes: Annotated[Tensor, Shape(2, dtype="int64")],
        factor: list[float],
    ) -> dict[str, Tensor]:
        hidden = torch.tanh(self.net(self.noise(state))) * torch.tensor(factor)[:, None, None]
        return {
            "score": hidden.sum((1, 2)) + way[:, 0],
            "wide": hidden.double().prod(2),
            "places": codes + 1,
            "next": hidden[:, 0],
        }


@stretto.differentiable("wordy", context=["words"], outputs={"score": Shape()})
def wordy(words: list[str]) -> Tensor:
    return torch.tensor([float(len(each)) for each in words])


@stretto.differentiable("still", inputs=["x"], outputs={"y": Shape(), "z": Shape()}, inline=True)
def still(x: Annotated[Tensor, Shape()]) -> dict[str, Tensor]:
    return {"y": torch.ones(len(x)), "z": 3 * x}


def of(target: object) -> TorchComponent:
    return cast("TorchComponent", component_of(target))


STATE = np.array([[0.5, -1.0, 2.0], [1.0, 0.25, -0.5]], np.float32)

REST = {"way": "up", "codes": [1, 2], "factor": 0.5}


def asked(inputs: dict[str, Any], cotangents: dict[str, Any], rest: dict[str, Any]) -> Cotangents:
    return Cotangents(
        run=RUN,
        path=StepPath("s"),
        inputs=tensors.written({name: np.asarray(each, np.float32) for name, each in inputs.items()}),
        cotangents=tensors.written({name: np.asarray(each) for name, each in cotangents.items()}),
        input=rest,
    )


def test_its_card_tells_what_a_gradient_passes() -> None:
    assert of(Mixed).card.tensors == card.Tensors(
        inputs=(card.Tensor(name="state", shape=(2, 3)),),
        outputs=(
            card.Tensor(name="score"),
            card.Tensor(name="wide", shape=(2,), dtype=card.Real.F64),
            card.Tensor(name="next_probabilities", shape=(3,), dtype=card.Real.F64),
        ),
    )
    assert Verb.VJP in verbs_of(of(Mixed))


def test_one_that_no_gradient_passes_does_not_offer_it() -> None:
    assert Verb.VJP not in verbs_of(of(wordy))


async def test_its_gradients_are_those_of_torch() -> None:
    cotangents = {
        "score": np.float32(2.0),
        "wide": np.array([1.0, -3.0]),
        "next_probabilities": np.array([0.5, 0.0, -1.0]),
    }
    found = await of(Mixed).vjp(asked({"state": STATE}, cotangents, REST))
    module, state = of(Mixed).module, torch.tensor(STATE)[None].requires_grad_()
    out = module(state=state, way=torch.tensor([[1.0, 0.0]]), codes=torch.tensor([[1, 2]]), factor=[0.5])
    out["next_probabilities"] = out["next"].double().softmax(-1)
    total = sum((out[name] * torch.tensor(each)).sum().double() for name, each in cotangents.items())
    assert isinstance(total, Tensor)
    (expected,) = torch.autograd.grad([total], [state])
    told = tensors.read(found, of(Mixed).card.tensors.inputs)  # type: ignore[union-attr]  # it tells them
    torch.testing.assert_close(torch.from_numpy(told["state"].copy()), expected[0])
    assert all(each.grad is None for each in module.parameters())


async def test_what_does_not_depend_on_an_input_has_no_gradient_by_it() -> None:
    for name, gradient in (("y", 0.0), ("z", 3.0)):
        found = await of(still).vjp(asked({"x": 2.0}, {name: np.float32(1.0)}, {}))
        assert tensors.read(found, [card.Tensor(name="x")])["x"].tolist() == gradient


@pytest.mark.parametrize(
    ("inputs", "cotangents", "rest", "said"),
    [
        ({"state": STATE}, {}, REST, "no cotangent is given, so there is nothing to pull back"),
        ({}, {"score": np.float32(1)}, REST, "no input is given with respect to which to differentiate"),
        (
            {"state": STATE.T},
            {"score": np.float32(1)},
            REST,
            r"hold 'state' of shape \[3, 2\]; expected \[2, 3\]",
        ),
        ({"state": STATE}, {"score": np.float64(1)}, REST, "`cotangents` hold 'score' of float64; expected F32"),
        ({"state": STATE}, {"places": np.float32(1)}, REST, "a tensor 'places'; expected 'score', 'wide', 'next_prob"),
        ({"state": STATE}, {"score": np.float32(1)}, {"way": "up", "codes": [1, 2]}, "KeyError: 'factor'"),
        ({"state": STATE}, {"score": np.float32(1)}, {**REST, "way": "left"}, "ValueError: 'left' is not OneOf"),
    ],
)
async def test_what_cannot_be_asked_is_refused(inputs: Any, cotangents: Any, rest: Any, said: str) -> None:
    with pytest.raises(ComponentError, match=said) as raised:
        await of(Mixed).vjp(asked(inputs, cotangents, rest))
    assert raised.value.rpc_code is Code.INVALID_ARGUMENT
