"""What is told of the gradients that a pass left."""

import math
import weakref

import pytest
import torch
from torch import Tensor, nn

from stretto.learn.differentiable.gradients import Gradients, Left


def parameters(**grads: list[list[float] | None]) -> dict[str, list[nn.Parameter]]:
    """Parameters of components, with those gradients."""
    found: dict[str, list[nn.Parameter]] = {}
    for name, those in grads.items():
        found[name] = [nn.Parameter(torch.zeros(len(each or [0.0]))) for each in those]
        for parameter, each in zip(found[name], those, strict=True):
            parameter.grad = None if each is None else torch.tensor(each)
    return found


BOTH = pytest.mark.parametrize("copies", [True, False], ids=["side by side", "one by one"])


@BOTH
def test_norms_are_of_components_as_they_were_left(copies: bool) -> None:
    those = parameters(one=[[3.0, 0.0], [4.0]], none=[None], two=[None, [2.0]])
    left = Left(those, copies=copies)
    assert left.are_numbers()
    for each in those["one"]:
        assert isinstance(each.grad, Tensor)
        each.grad *= 0.1  # as clipping does, before anybody asks
    told = Gradients(left)
    assert told.norms == pytest.approx({"one": 5.0, "none": 0.0, "two": 2.0})
    assert told.unreached == ("none",)


@BOTH
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_told_by_component(copies: bool, bad: float) -> None:
    left = Left(parameters(one=[[1.0]], two=[[2.0], [0.0, bad]]), copies=copies)
    assert not left.are_numbers()
    assert left.wrong() == ["two"]


@BOTH
def test_two_infinite_ones_that_cancel_are_no_numbers(copies: bool) -> None:
    assert not Left(parameters(one=[[math.inf, -math.inf]]), copies=copies).are_numbers()


@BOTH
def test_a_large_gradient_is_a_number_though_its_square_is_none(copies: bool) -> None:
    left = Left(parameters(one=[[1e25, 1e25]], two=[[1.0]]), copies=copies)
    assert left.are_numbers()
    assert left.norms() == pytest.approx({"one": 1e25 * math.sqrt(2), "two": 1.0})


def test_no_gradient_at_all_is_no_wrong_one() -> None:
    left = Left(parameters(one=[None]), copies=True)
    assert (left.are_numbers(), left.norms(), left.unreached()) == (True, {"one": 0.0}, ("one",))


@BOTH
def test_a_lone_gradient_is_told_as_it_was_left(copies: bool) -> None:
    those = parameters(one=[[3.0, 4.0]])
    left = Left(those, copies=copies)
    assert left.are_numbers()
    assert isinstance(those["one"][0].grad, Tensor)
    those["one"][0].grad *= 0.1
    assert left.norms() == pytest.approx({"one": 5.0})


@BOTH
@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_of_a_float64_whose_square_is_none_the_norm_is(copies: bool, size: float) -> None:
    parameter = nn.Parameter(torch.zeros(2, dtype=torch.float64))
    parameter.grad = torch.tensor([3.0, 4.0], dtype=torch.float64) * size
    left = Left({"one": [parameter]}, copies=copies)
    assert left.are_numbers()
    assert left.norms() == pytest.approx({"one": 5 * size})


@BOTH
def test_sparse_gradients_are_looked_at_too(copies: bool) -> None:
    table, beside = nn.Embedding(4, 2, sparse=True), parameters(two=[[2.0]])["two"]
    (table(torch.tensor([1, 3, 3])).sum() * 3).backward()
    left = Left({"one": [*table.parameters()], "two": beside, "both": [*table.parameters(), *beside]}, copies=copies)
    assert left.are_numbers()
    assert left.norms() == pytest.approx({"one": math.sqrt(90), "two": 2.0, "both": math.sqrt(94)})


@BOTH
def test_the_norm_of_complex_gradients_is_that_of_both_parts(copies: bool) -> None:
    parameter = nn.Parameter(torch.zeros(2, dtype=torch.complex64))
    parameter.grad = torch.tensor([3j, 4.0])
    left = Left({"one": [parameter], "two": parameters(two=[[2.0]])["two"]}, copies=copies)
    assert left.are_numbers()
    assert left.norms() == pytest.approx({"one": 5.0, "two": 2.0})


def test_large_gradients_are_not_held_by_what_is_told_of_them() -> None:
    those = parameters(one=[[3.0, 4.0]])
    told = Gradients(Left(those, copies=False))
    grad = weakref.ref(those["one"][0].grad)
    those["one"][0].grad = None
    assert grad() is None
    assert told.norms == pytest.approx({"one": 5.0})
    assert told.unreached == ()
