"""Attributions of functions whose parts are known, and of a network with a planted cause."""

import pytest
import torch
from torch import Tensor, nn, tensor

from stretto.learn.attribution import (
    Attribution,
    Row,
    by_unit,
    faithfulness,
    faithfulness_of,
    gradient_times_input,
    integrated_gradients,
    occlusion,
    units_of,
)
from stretto.learn.attribution.rows import flat
from stretto.types.errors import UsageError

ROW = {"a": tensor([[1.0, 2.0]]), "b": tensor([[[3.0], [-1.0]]])}

NOTHING = {name: torch.zeros_like(value) for name, value in ROW.items()}


def linear(row: Row) -> Tensor:
    return 2 * row["a"][:, 0] - row["a"][:, 1] + 0.5 * row["b"].sum((1, 2))


def bent(row: Row) -> Tensor:
    """Of the first and the third element together, and of the second by itself."""
    return row["a"][:, 0] ** 2 * row["b"][:, 0, 0] + torch.sigmoid(row["a"][:, 1])


@pytest.mark.parametrize("method", [integrated_gradients, gradient_times_input])
def test_the_parts_of_a_linear_score_are_its_terms(method: object) -> None:
    found = method(linear, ROW, NOTHING)  # type: ignore[operator]  # both are functions
    assert found.values["a"].tolist() == [[pytest.approx(2.0), pytest.approx(-2.0)]]
    assert found.values["b"].tolist() == [[[pytest.approx(1.5)], [pytest.approx(-0.5)]]]
    assert (found.score, found.baseline) == (pytest.approx(1.0), 0.0)
    assert found.residual == pytest.approx(0.0, abs=1e-6)


def test_the_parts_of_any_smooth_score_add_up() -> None:
    found = integrated_gradients(bent, ROW, NOTHING)
    assert found.residual < 1e-5
    assert found.values["b"][0, 1, 0] == 0.0
    # along the straight path, d/dt of (1t)^2 (3t) is shared 2 to 1
    assert found.values["a"][0, 0].item() == pytest.approx(2.0, abs=1e-4)
    assert found.values["b"][0, 0, 0].item() == pytest.approx(1.0, abs=1e-4)


def test_a_gradient_alone_does_not_add_up_where_the_score_is_bent() -> None:
    assert gradient_times_input(bent, ROW, NOTHING).residual > 0.5


def test_what_is_missing_is_held_against_parts_that_cancel_too() -> None:
    found = Attribution(values={"x": tensor([[2.0, -2.0]])}, score=1.001, baseline=1.0)
    assert found.residual == pytest.approx(0.001 / 4.0, rel=1e-3)
    half = Attribution(values={"x": tensor([[0.05]])}, score=100.1, baseline=100.0)
    assert half.residual == pytest.approx(0.5, rel=1e-3)
    assert Attribution(values={"x": tensor([[0.0]])}, score=1.0, baseline=1.0).residual == 0.0


def test_occlusion_is_what_is_lost_with_each_element() -> None:
    fallen = occlusion(bent, ROW, NOTHING)
    assert fallen.tolist() == pytest.approx([3.0, torch.sigmoid(tensor(2.0)).item() - 0.5, 3.0, 0.0])


def test_a_vector_is_taken_away_whole() -> None:
    row, nothing = (
        {"v": torch.ones(1, 3, 2), "x": torch.ones(1, 2)},
        {"v": torch.zeros(1, 3, 2), "x": torch.zeros(1, 2)},
    )
    weights = tensor([[1.0, 1.0], [3.0, 4.0], [0.0, 0.5]])

    def score(each: Row) -> Tensor:
        return (each["v"] * weights).sum((1, 2)) + each["x"].sum(1)

    assert occlusion(score, row, nothing, whole=["v"]).tolist() == [2.0, 7.0, 0.5, 1.0, 1.0]
    values = {"v": weights[None], "x": torch.ones(1, 2)}
    assert by_unit(flat(values), units_of(row, ["v"])).tolist() == [2.0, 7.0, 0.5, 1.0, 1.0]
    assert faithfulness(score, row, nothing, values, whole=["v"]).beaten > 0.9


def test_a_planted_cause_is_found_first_in_a_network_and_believed() -> None:
    torch.manual_seed(0)
    first = nn.Linear(12, 16)
    with torch.no_grad():
        first.weight[:, 7] *= 12
    net = nn.Sequential(first, nn.Tanh(), nn.Linear(16, 1))
    found_first = 0
    for seed in range(20):
        row = {"x": torch.randn(1, 12, generator=torch.Generator().manual_seed(seed)).sign()}
        nothing = {"x": torch.zeros(1, 12)}
        found = integrated_gradients(lambda each: net(each["x"])[:, 0], row, nothing)
        assert found.residual < 0.01
        found_first += int(found.values["x"].abs().argmax()) == 7
    assert found_first == 20


def test_a_faithful_order_beats_random_ones_and_a_reversed_one_does_not() -> None:
    weights = tensor([5.0, 1.0, 0.5, 0.2, 0.1, 0.0])
    row, nothing = {"x": torch.ones(1, 6)}, {"x": torch.zeros(1, 6)}

    def score(each: Row) -> Tensor:
        return each["x"] @ weights

    right = faithfulness(score, row, nothing, {"x": weights[None]})
    wrong = faithfulness(score, row, nothing, {"x": -weights[None]})
    assert right.deletion < right.random < right.insertion
    assert right.beaten > 0.9
    assert wrong.beaten == 0.0
    assert wrong.deletion > wrong.random


def test_several_attributions_are_held_against_the_same_random_orders() -> None:
    weights = tensor([5.0, 1.0, 0.5, 0.2, 0.1, 0.0])
    row, nothing = {"x": torch.ones(1, 6)}, {"x": torch.zeros(1, 6)}

    def score(each: Row) -> Tensor:
        return each["x"] @ weights

    right, wrong = faithfulness_of(score, row, nothing, [weights, -weights])
    assert right == faithfulness(score, row, nothing, {"x": weights[None]})
    assert wrong == faithfulness(score, row, nothing, {"x": -weights[None]})


def test_a_score_below_the_baseline_is_explained_by_what_pulls_it_down() -> None:
    row, nothing = {"x": torch.ones(1, 3)}, {"x": torch.zeros(1, 3)}
    weights = tensor([-3.0, -1.0, 0.5])
    found = faithfulness(lambda each: each["x"] @ weights, row, nothing, {"x": weights[None]})
    assert found.deletion < found.random


def test_what_a_score_does_not_read_adds_nothing() -> None:
    found = integrated_gradients(lambda row: row["a"].sum(1), ROW, NOTHING)
    assert found.values["b"].tolist() == [[[0.0], [0.0]]]


@pytest.mark.parametrize(
    ("row", "baseline", "message"),
    [
        (ROW, {"a": NOTHING["a"]}, r"the inputs \['a', 'b'\] and a baseline of \['a'\]"),
        ({}, {}, r"the inputs \[\]"),
        ({"a": torch.zeros(2, 3)}, {"a": torch.zeros(2, 3)}, r"'a' of shape \[2, 3\].*expected one row"),
        ({"a": torch.zeros(1, 3)}, {"a": torch.zeros(1, 4)}, r"\[1, 3\] and its baseline of shape \[1, 4\]"),
        ({"a": torch.zeros(1, 3).long()}, {"a": torch.zeros(1, 3).long()}, "torch.int64, which has no gradient"),
    ],
)
def test_what_does_not_fit_is_refused(row: Row, baseline: Row, message: str) -> None:
    for method in (integrated_gradients, gradient_times_input, occlusion):
        with pytest.raises(UsageError, match=message):
            method(linear, row, baseline)


def test_a_path_has_points() -> None:
    with pytest.raises(UsageError, match="points=0; expected 1 or more"):
        integrated_gradients(linear, ROW, NOTHING, points=0)
