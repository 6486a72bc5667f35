"""Choices are learnt from by their score: unbiased, and only what is downstream counts."""

from pathlib import Path

import pytest
import torch

from tests.unit.learn.differentiable.made import grads_of, hand, module_of, xs

CHOICE = """
  - {name: choose, component: chooser, input_mapping: {state: input.x}}
"""
INSIDE = CHOICE + "  - {name: reward, component: of_way, input_mapping: {way: steps.choose.way}}\n"
OUTSIDE = CHOICE + "  - {name: reward, component: outside, input_mapping: {way: steps.choose.way}}\n"


@pytest.mark.parametrize(("steps", "term"), [(INSIDE, "of_way"), (OUTSIDE, "outside")])
def test_the_score_estimates_the_exact_gradient(tmp_path: Path, steps: str, term: str) -> None:
    module = module_of(tmp_path, steps, head=f"contract: {{reward: {{{term}: 1.0}}}}")
    count = 3000 if term == "of_way" else 600
    inputs = [{"x": [0.5, -1.0]}] * count
    outcome = module(inputs, seeds=range(count))
    estimated = grads_of(module, outcome.loss)
    worth = torch.tensor([1.0, 3.0, -2.0], dtype=torch.float64)
    p = hand(module, "chooser")(xs(inputs[:1])).softmax(-1)[0]
    exact = grads_of(module, -(p * worth).sum())
    spread = 3.0 / count**0.5 * 4  # a term of the sum is at most 5 times a score of at most 1
    for name, found in estimated.items():
        assert (found - exact[name]).abs().max() < spread, name
    assert outcome.loss.item() == pytest.approx(-outcome.rewards.mean().item())
    module.close()


def test_a_reward_that_is_not_downstream_of_a_choice_adds_no_noise_to_its_gradient(tmp_path: Path) -> None:
    steps = (
        INSIDE
        + """
  - {name: one, component: first, input_mapping: {x: input.y}}
  - {name: beside, component: worth, input_mapping: {score: steps.one.score}}
"""
    )
    module = module_of(tmp_path, steps, head="contract: {reward: {of_way: 1.0, worth: 100.0}}")
    inputs = [{"x": [0.5, -1.0], "y": [float(row), 1.0]} for row in range(64)]
    both = grads_of(module, module(inputs, seeds=range(64)).loss)
    alone = module_of(tmp_path, INSIDE, head="contract: {reward: {of_way: 1.0}}")
    expected = grads_of(alone, alone(inputs, seeds=range(64)).loss)
    assert torch.allclose(both["chooser.net.weight"], expected["chooser.net.weight"])


def test_one_run_alone_is_learnt_from_without_a_baseline(tmp_path: Path) -> None:
    module = module_of(tmp_path, INSIDE, head="contract: {reward: {of_way: 1.0}}")
    outcome = module([{"x": [0.5, -1.0]}], seeds=[3])
    log_p = hand(module, "chooser")(torch.tensor([[0.5, -1.0]], dtype=torch.float64)).log_softmax(-1)[0]
    (step,) = [step for step in outcome.runs[0].steps if step.path == "choose"]
    chosen = "abc".index(step.actions[0].chosen)
    expected = grads_of(module, -log_p[chosen] * outcome.rewards[0].detach())
    found = grads_of(module, outcome.loss)
    assert torch.allclose(found["chooser.net.weight"], expected["chooser.net.weight"])
