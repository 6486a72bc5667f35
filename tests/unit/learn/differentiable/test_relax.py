"""`relax`: a surrogate learnt online takes the noise off a choice's score, and never biases it."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from stretto.learn.differentiable.module import DifferentiableWorkflow
from stretto.types.errors import UsageError
from tests.unit.learn.differentiable.made import grads_of, hand, module_of
from tests.unit.learn.differentiable.test_choices import INSIDE, OUTSIDE, WORTH, choosing, probabilities

X = [0.5, -1.0]
BATCH = 50
FAMILY = 4.0
"""|z| that six right means reach once in 2,600 times."""


def estimates(module: DifferentiableWorkflow, batches: int, start: int = 0) -> Tensor:
    """Of each batch, the gradient by the bias of the logits."""
    return torch.stack(
        [
            grads_of(module, module([{"x": X}] * BATCH, seeds=range(first, first + BATCH)).loss)["chooser.net.bias"]
            for first in range(start * BATCH, (start + batches) * BATCH, BATCH)
        ]
    )


def exact(module: DifferentiableWorkflow) -> Tensor:
    return grads_of(module, -(probabilities(module, X) * WORTH).sum())["chooser.net.bias"]


def z_of(found: Tensor, truth: Tensor) -> float:
    return float(((found.mean(0) - truth) / (found.std(0) / len(found) ** 0.5)).abs().max())


def noise(found: Tensor) -> float:
    return float(found.var(0).sum())


@pytest.mark.parametrize("rest", [INSIDE, OUTSIDE])
def test_what_a_surrogate_learns_online_takes_the_noise_and_no_bias_comes(tmp_path: Path, rest: str) -> None:
    module, plain = choosing(tmp_path, "relax", rest), choosing(tmp_path, "score", rest)
    first, later = estimates(module, 20), estimates(module, 20, start=20)
    assert z_of(torch.cat([first, later]), exact(module)) < FAMILY
    assert noise(later) < 0.01 * noise(estimates(plain, 20, start=20))
    report = module.surrogates["choose"].report()
    assert report.coefficient == pytest.approx(1.0, abs=0.05)
    assert report.r_squared is not None
    assert report.r_squared > 0.9
    module.close()
    plain.close()


def test_a_hostile_surrogate_costs_no_variance_once_its_coefficient_is_fitted(tmp_path: Path) -> None:
    module, plain = choosing(tmp_path, "relax"), choosing(tmp_path, "score")
    surrogate = module.surrogates["choose"]
    surrogate.is_frozen = True
    with torch.no_grad():
        surrogate.learner.network.outer.bias.copy_(-5 * WORTH.flip(0) + torch.tensor([7.0, 0.0, 3.0]))
    first, later = estimates(module, 20), estimates(module, 200, start=20)
    assert z_of(torch.cat([first, later]), exact(module)) < FAMILY
    assert noise(later) < 1.05 * noise(estimates(plain, 200, start=20))
    assert surrogate.report().rows == 0


def test_a_surrogate_without_data_is_the_plain_score(tmp_path: Path) -> None:
    module, plain = choosing(tmp_path, "relax"), choosing(tmp_path, "score")
    assert torch.equal(estimates(module, 1), estimates(plain, 1))
    assert "no data yet; coefficient 0, as the plain score" in str(
        choosing(tmp_path, "relax").surrogates["choose"].report()
    )


def test_a_module_in_eval_mode_teaches_its_surrogate_nothing(tmp_path: Path) -> None:
    module = choosing(tmp_path, "relax").eval()
    estimates(module, 2)
    with torch.no_grad():
        module.train()([{"x": X}] * 64, seeds=range(64))
    assert module.surrogates["choose"].report().rows == 0


def test_rounds_and_items_share_a_surrogate_and_stay_unbiased(tmp_path: Path) -> None:
    steps = """
  - name: talk
    repeat:
      max_rounds: 3
      carry: {x: "input.x"}
      until: "steps.choose.way == 'b'"
      steps:
        - {name: choose, component: chooser, estimator: ESTIMATOR, input_mapping: {state: carry.x}}
  - {name: reward, component: outside, input_mapping: {way: steps.talk.last.choose.way}}
"""
    head = "contract: {reward: {outside: 1.0}}"
    module = module_of(tmp_path, steps.replace("ESTIMATOR", "relax"), head=head)
    found = estimates(module, 60)
    p = hand(module, "chooser")(torch.tensor([X], dtype=torch.float64)).softmax(-1)[0]
    last = p * WORTH.where(torch.tensor([False, True, False]), torch.zeros(3))
    other = 1 - p[1]
    value = last.sum() * (1 + other + other**2) + other**2 * (p * WORTH).sum() - other**2 * last.sum()
    assert z_of(found, grads_of(module, -value)["chooser.net.bias"]) < FAMILY
    assert [*module.surrogates] == ["talk/choose"]
    module.close()


def test_relax_where_no_reward_follows_the_choice_is_refused(tmp_path: Path) -> None:
    rest = """
  - {name: one, component: first, input_mapping: {x: input.x}}
  - {name: beside, component: worth, input_mapping: {score: steps.one.score}}
"""
    with pytest.raises(UsageError, match="'choose' cannot have the estimator 'relax': it has no effect: no term"):
        choosing(tmp_path, "relax", rest, worth=1.0)
