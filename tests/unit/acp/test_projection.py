"""An honest component is never accused, whatever its function; one that lies is caught, as often as is said."""

import asyncio
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor, nn

from stretto.acp.difference import Arrays, Claim, _lowest_digit, reach
from stretto.acp.projection import Verdict, judge

torch.set_num_threads(1)

N, M = 8, 3

Function = Callable[[Tensor], Tensor]


def _linear(seed: int, inside: int = N, out: int = M) -> nn.Linear:
    torch.manual_seed(seed)
    return nn.Linear(inside, out)


def relu(seed: int) -> Function:
    first, last = _linear(seed, out=32), _linear(seed + 1, 32)
    return lambda x: last(torch.relu(first(x)))


def relu_of_input(seed: int) -> Function:
    last = _linear(seed)
    return lambda x: last(torch.relu(x))


def linear(seed: int) -> Function:
    return _linear(seed)


def steep(seed: int) -> Function:
    last = _linear(seed)
    return lambda x: last(torch.tanh(100 * x))


def shrinking(seed: int) -> Function:
    last = _linear(seed)
    return lambda x: last(nn.functional.softshrink(x, 5e-4))


def saturated(seed: int) -> Function:
    last = _linear(seed)
    return lambda x: torch.sigmoid(50 * last(x))


def choosing(seed: int) -> Function:
    last = _linear(seed, out=4 * M)
    return lambda x: last(x).reshape(M, 4).max(-1).values


def of_few_digits(seed: int) -> Function:
    last = _linear(seed)
    return lambda x: (last(x) + 1e4) - 1e4


def offset(seed: int) -> Function:
    last = _linear(seed)
    return lambda x: last(x) + 1e4


def dead(seed: int) -> Function:
    last = _linear(seed)
    return lambda x: last(torch.relu(x - 1e6))


def of_decimals(places: int) -> Callable[[int], Function]:
    """Answers rounded as JSON often has them, with the gradient of what they were before."""

    def made(seed: int) -> Function:
        last = _linear(seed)

        def function(x: Tensor) -> Tensor:
            y = torch.tanh(last(x))
            return y + (y.detach().double().round(decimals=places).float() - y.detach())

        return function

    return made


ROUNDED = (of_decimals(1), of_decimals(2), of_decimals(3))

HONEST = (linear, relu, relu_of_input, steep, shrinking, saturated, choosing, of_few_digits, offset, dead)

WHERE: dict[str, Callable[..., Any]] = {
    "normal": lambda draw: draw.standard_normal(N),
    "sparse": lambda draw: draw.standard_normal(N) * (draw.random(N) < 0.3),
    "zero": lambda draw: np.zeros(N),
    "uneven": lambda draw: draw.standard_normal(N) * np.where(draw.random(N) < 0.2, 1e5, 1.0),
    "tiny": lambda draw: draw.standard_normal(N) * 1e-3,
}

LIES: dict[str, Callable[..., Any]] = {
    "the sign turned": lambda g, _, __: -g,
    "doubled": lambda g, _, __: 2 * g,
    "nothing": lambda g, _, __: 0 * g,
    "the largest left out": lambda g, _, __: np.where(np.abs(g) == np.abs(g).max(), 0, g).astype(g.dtype),
    "in another order": lambda g, _, __: np.roll(g, 1),
    "of another input": lambda _, at, draw: at(draw.standard_normal(N).astype(np.float32)),
}


def check(function: Function, where: str, seed: int, lie: str = "") -> Verdict:
    draw = np.random.default_rng(seed)
    x = WHERE[where](draw).astype(np.float32)
    v = draw.standard_normal(M).astype(np.float32)

    def gradient(at: Any) -> npt.NDArray[Any]:
        leaf = torch.tensor(at, requires_grad=True)
        (found,) = torch.autograd.grad([function(leaf)], [leaf], [torch.tensor(v)])
        told: npt.NDArray[Any] = found.numpy()
        return told

    async def ask(inputs: Arrays) -> Arrays:
        with torch.no_grad():
            return {"y": function(torch.tensor(inputs["x"])).numpy()}

    told = gradient(x)
    claim = Claim(
        inputs={"x": x},
        answer=asyncio.run(ask({"x": x})),
        cotangents={"y": v},
        gradients={"x": LIES[lie](told, gradient, draw) if lie else told},
    )
    return asyncio.run(judge(claim, ask, draw))[0]


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("made", HONEST)
def test_an_honest_gradient_is_not_accused(made: Callable[[int], Function], where: str) -> None:
    found = {check(made(seed), where, seed) for seed in range(20)}
    assert Verdict.LIES not in found


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("made", ROUNDED, ids=["1 place", "2 places", "3 places"])
def test_a_component_that_rounds_its_answers_is_not_accused(made: Callable[[int], Function], where: str) -> None:
    found = {check(made(seed), where, seed) for seed in range(20)}
    assert Verdict.LIES not in found


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_caught_more_often_than_not(lie: str) -> None:
    found = [check(relu(seed), "normal", seed, lie) for seed in range(20)]
    assert sum(each is Verdict.LIES for each in found) > 10


def test_a_lie_about_slopes_below_the_rounding_of_the_answers_is_not_believed() -> None:
    found = [check(offset(seed), "normal", seed, "the sign turned") for seed in range(20)]
    assert Verdict.AGREES not in found


def test_a_gradient_of_0_where_nothing_moves_is_believed() -> None:
    assert {check(dead(seed), "normal", seed) for seed in range(20)} == {Verdict.AGREES}


def test_a_component_that_does_not_answer_there_is_not_accused() -> None:
    async def ask(_: Arrays) -> None:
        return None

    x = np.ones(N, np.float32)
    claim = Claim(inputs={"x": x}, answer={"y": x}, cotangents={"y": x}, gradients={"x": -x})
    assert asyncio.run(judge(claim, ask, np.random.default_rng(0))) == (Verdict.UNCLEAR, None)


def test_small_inputs_are_moved_by_what_the_others_are_and_by_no_more_than_1() -> None:
    assert reach(np.array([0.0, 2.0, -1e5, 0.25])).tolist() == [1.0, 2.0, 1e5, 1.0]
    assert reach(np.array([0.0, 1e-3, 2e-3, 4e-3])).tolist() == [2e-3, 2e-3, 2e-3, 4e-3]
    assert reach(np.array(0.0)).tolist() == 1.0


def test_the_lowest_digit_of_a_number_is_told_exactly() -> None:
    values = np.array([1.0, 0.75, 96.0, -0.1, 0.0], np.float32)
    last = 2.0 ** (math.frexp(0.1)[1] - 24)
    assert _lowest_digit(values).tolist() == [1.0, 0.25, 32.0, last, math.inf]
