"""How choices are learnt from: by their score, by trying all, by a relaxed choice; what is downstream counts."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from torch import Tensor

from stretto.learn.differentiable.building import inside_of
from stretto.learn.differentiable.module import DifferentiableWorkflow
from stretto.types.errors import UsageError
from tests.unit.learn.differentiable.made import grads_of, hand, module_of, same

CHOICE = """
  - {name: choose, component: chooser, estimator: ESTIMATOR, input_mapping: {state: input.x}}
"""
INSIDE = "  - {name: reward, component: of_way, input_mapping: {way: steps.choose.way}}\n"
OUTSIDE = "  - {name: reward, component: outside, input_mapping: {way: steps.choose.way}}\n"
PAY = "  - {name: pay, component: pays, input_mapping: {n: input.n}}\n"
WORTH = torch.tensor([1.0, 3.0, -2.0], dtype=torch.float64)
TERM = {INSIDE: "of_way", OUTSIDE: "outside"}


def choosing(folder: Path, estimator: str, rest: str = INSIDE, **weights: float) -> DifferentiableWorkflow:
    weighed = weights or {TERM[rest]: 1.0}
    head = f"contract: {{reward: {{{', '.join(f'{name}: {weight}' for name, weight in weighed.items())}}}}}"
    return module_of(folder, CHOICE.replace("ESTIMATOR", estimator) + rest, head=head)


def probabilities(module: DifferentiableWorkflow, x: Sequence[float]) -> Tensor:
    p: Tensor = hand(module, "chooser")(torch.tensor([x], dtype=torch.float64)).softmax(-1)[0]
    return p


@pytest.mark.parametrize("rest", [INSIDE, OUTSIDE])
def test_the_score_estimates_the_exact_gradient(tmp_path: Path, rest: str) -> None:
    module = choosing(tmp_path, "score", rest)
    count = 3000 if rest is INSIDE else 600
    outcome = module([{"x": [0.5, -1.0]}] * count, seeds=range(count))
    estimated = grads_of(module, outcome.loss)
    exact = grads_of(module, -(probabilities(module, [0.5, -1.0]) * WORTH).sum())
    spread = 3.0 / count**0.5 * 4  # a term of the sum is at most 5 times a score of at most 1
    for name, found in estimated.items():
        assert (found - exact[name]).abs().max() < spread, name
    assert outcome.loss.item() == pytest.approx(-outcome.rewards.mean().item())
    module.close()


@pytest.mark.parametrize("rest", [INSIDE, OUTSIDE])
def test_alternatives_that_are_all_tried_give_the_exact_gradient_and_one_run(tmp_path: Path, rest: str) -> None:
    module = choosing(tmp_path, "enumerate", rest)
    inputs = [{"x": [0.5, -1.0]}, {"x": [2.0, 0.25]}]
    outcome = module(inputs, seeds=[1, 2])
    expected = torch.stack([(probabilities(module, each["x"]) * WORTH).sum() for each in inputs])
    assert torch.allclose(outcome.rewards, expected)
    assert same(grads_of(module, outcome.loss), grads_of(module, -expected.mean()), rtol=1e-6)
    for run in outcome.runs:
        choose, reward = run.steps
        assert choose.actions[0].chosen == choose.output_value["way"] == reward.input_value["way"]
        assert run.reward == WORTH["abc".index(choose.actions[0].chosen)].item()
    module.close()


def test_choices_one_after_the_other_are_enumerated_together_and_scored_within(tmp_path: Path) -> None:
    rest = """
  - name: next
    component: chooser
    estimator: SECOND
    condition: "steps.choose.way != 'b'"
    input_mapping: {state: input.y}
  - {name: reward, component: both, input_mapping: {one: steps.choose.way, two: steps.next.way}}
"""
    inputs, worth = (
        {"x": [0.5, -1.0], "y": [1.0, 1.0]},
        torch.tensor([[4.0, 1.0, 0.0], [5.0, 5.0, 5.0], [0.0, -1.0, 2.0]]),
    )
    whole = choosing(tmp_path, "enumerate", rest.replace("SECOND", "enumerate"), both=1.0)
    p = hand(whole, "chooser")(torch.tensor([inputs["x"], inputs["y"]], dtype=torch.float64)).softmax(-1)
    value = (p[0][:, None] * p[1][None] * worth.double()).sum()
    exact = grads_of(whole, -value)
    outcome = whole([inputs], seeds=[3])
    assert outcome.rewards.item() == pytest.approx(value.item(), rel=1e-6)
    assert same(grads_of(whole, outcome.loss), exact, rtol=1e-5)
    for first, second in (("enumerate", "score"), ("score", "enumerate"), ("score", "score")):
        mixed = choosing(tmp_path, first, rest.replace("SECOND", second), both=1.0)
        found = grads_of(mixed, mixed([inputs] * 3000, seeds=range(3000)).loss)
        for name, each in found.items():
            assert (each - exact[name]).abs().max() < 0.35, (first, second, name)


@pytest.mark.parametrize("estimator", ["straight-through", "gumbel", "rao-blackwell"])
def test_a_relaxed_choice_is_the_drawn_one_in_value_and_passes_a_gradient(tmp_path: Path, estimator: str) -> None:
    module = choosing(tmp_path, estimator)
    inputs = [{"x": [0.5, -1.0]}] * 400
    outcome = module(inputs, seeds=range(400))
    chosen = [run.steps[0].actions[0].chosen for run in outcome.runs]
    assert outcome.rewards.tolist() == [WORTH["abc".index(each)].item() for each in chosen]
    found = grads_of(module, outcome.loss)
    exact = grads_of(module, -(probabilities(module, [0.5, -1.0]) * WORTH).sum())
    if estimator == "straight-through":  # what follows is linear in the choice, so it is exact here
        assert same(found, exact, rtol=1e-5)
    else:
        assert all(float((found[name] * exact[name]).sum()) > 0 for name in found)


def test_few_alternatives_are_all_tried_by_default_where_only_modules_follow(tmp_path: Path) -> None:
    def estimators(rest: str) -> list[str]:
        module = module_of(tmp_path, CHOICE.replace("estimator: ESTIMATOR, ", "") + rest)
        return [node.estimator.value for node in inside_of(module._nodes) if node.component.signature.chooses]

    assert estimators(INSIDE) == ["enumerate"]
    assert estimators(OUTSIDE) == ["score"]
    assert estimators("  - {name: other, component: same, input_mapping: {value: steps.choose.way}}\n") == ["score"]


@pytest.mark.parametrize(
    ("estimator", "rest", "text"),
    [
        ("straight-through", OUTSIDE, "no module reads the choice as a OneOf"),
        ("enumerate", INSIDE + PAY, "'pays' is called after it"),
    ],
)
def test_an_estimator_that_cannot_be_had_is_refused(tmp_path: Path, estimator: str, rest: str, text: str) -> None:
    with pytest.raises(UsageError, match=f"'choose' cannot have the estimator '{estimator}'.*{text}"):
        choosing(tmp_path, estimator, rest, **{TERM[rest.removesuffix(PAY)]: 1.0})


def test_a_choice_inside_a_list_is_not_enumerated(tmp_path: Path) -> None:
    steps = """
  - name: each
    for_each: "input.all"
    steps:
      - {name: choose, component: chooser, estimator: enumerate, input_mapping: {state: item}}
"""
    with pytest.raises(UsageError, match="it stands inside another step"):
        module_of(tmp_path, steps)


def test_a_reward_that_is_not_downstream_of_a_choice_adds_no_noise_to_its_gradient(tmp_path: Path) -> None:
    beside = """
  - {name: one, component: first, input_mapping: {x: input.y}}
  - {name: beside, component: worth, input_mapping: {score: steps.one.score}}
"""
    module = choosing(tmp_path, "score", INSIDE + beside, of_way=1.0, worth=100.0)
    inputs = [{"x": [0.5, -1.0], "y": [float(row), 1.0]} for row in range(64)]
    both = grads_of(module, module(inputs, seeds=range(64)).loss)
    alone = choosing(tmp_path, "score")
    expected = grads_of(alone, alone(inputs, seeds=range(64)).loss)
    assert torch.allclose(both["chooser.net.weight"], expected["chooser.net.weight"])


def test_one_run_alone_is_learnt_from_without_a_baseline(tmp_path: Path) -> None:
    module = choosing(tmp_path, "score")
    outcome = module([{"x": [0.5, -1.0]}], seeds=[3])
    log_p = probabilities(module, [0.5, -1.0]).log()
    (step,) = [step for step in outcome.runs[0].steps if step.path == "choose"]
    chosen = "abc".index(step.actions[0].chosen)
    expected = grads_of(module, -log_p[chosen] * outcome.rewards[0].detach())
    found = grads_of(module, outcome.loss)
    assert torch.allclose(found["chooser.net.weight"], expected["chooser.net.weight"])
