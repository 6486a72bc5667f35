"""`estimator: surrogate`: a step outside answers as ever, and a network that learnt its answers gives the gradient."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from stretto import RunRequest
from stretto.learn.differentiable.module import DifferentiableWorkflow
from stretto.types.errors import LearningError, SpecError, UsageError
from tests.unit.learn.differentiable.made import Grads, grads_of, hand, module_of, rows, xs

STEPS = """
  - {name: one, component: first, input_mapping: {x: input.x}}
  - name: rate
    component: rated
    ESTIMATOR
    input_mapping: {score: steps.one.score, state: steps.one.state}
  - {name: worth, component: worth, input_mapping: {score: steps.rate.score}}
"""
HEAD = "contract: {reward: {worth: 1.0}}"


def passed(folder: Path, estimator: str = "estimator: surrogate") -> DifferentiableWorkflow:
    return module_of(folder, STEPS.replace("ESTIMATOR", estimator), head=HEAD, output="{grade: steps.rate.grade}")


def exact(module: DifferentiableWorkflow, x: Tensor) -> Grads:
    told = hand(module, "first")(x)
    return grads_of(module, -(2 * told["score"] + told["state"].prod(1)).mean())


def alike(found: Grads, truth: Grads) -> float:
    """Cosine between two gradients."""
    one, other = (torch.cat([grads[name].flatten() for name in sorted(truth)]) for grads in (found, truth))
    return float(torch.cosine_similarity(one, other, dim=0))


def test_answers_are_the_steps_own_and_the_gradient_is_near_the_exact_one(tmp_path: Path) -> None:
    module, plain, inputs = passed(tmp_path), passed(tmp_path, ""), rows(400)
    recorded = plain(inputs).runs
    module.fit_surrogates(recorded)
    outcome = module(inputs[:100])
    assert outcome.rewards.tolist() == [run.reward for run in recorded[:100]]
    assert outcome.outputs["grade"] == [run.output_value["grade"] for run in recorded[:100]]
    assert [run.steps[1].output_value for run in outcome.runs] == [run.steps[1].output_value for run in recorded[:100]]
    assert alike(grads_of(module, outcome.loss), exact(module, xs(inputs[:100]))) > 0.98
    module.close()
    plain.close()


def test_what_is_biased_is_said_wherever_gradients_are_told(tmp_path: Path) -> None:
    module, inputs = passed(tmp_path), rows(64)
    report = module.surrogates["rate"].report()
    assert "has no data yet; no gradient passes" in str(report)
    assert "no gradient passes step 'rate' yet: its surrogate had no data" in module(inputs).backward().skipped
    assert module.skipped_updates == 1
    for _ in range(20):
        outcome = module(inputs)
    told = outcome.backward()
    assert told.norms["first"] > 0
    assert [*told.biased] == ["rate"]
    assert "its gradient is BIASED: it stands for the step" in module.report
    report = module.surrogates["rate"].report()
    assert report.is_biased
    assert report.r_squared is not None
    assert report.r_squared > 0.9
    assert report.learnt_of == module.plan.manifest.components["rated"].rpartition("@")[2]
    module.close()


def test_a_row_that_a_fallback_answered_is_not_learnt_from_and_passes_no_gradient(tmp_path: Path) -> None:
    asked = "state: steps.one.state}"
    steps = STEPS.replace("component: rated", "component: picky_rated").replace("ESTIMATOR", "estimator: surrogate")
    steps = steps.replace(asked, asked + "\n    resilience: {fallback: {output: {score: 7.0, grade: none}}}")
    module, inputs = module_of(tmp_path, steps, head=HEAD), rows(64)
    own = hand(module, "first")(xs(inputs))["score"] <= 0
    for _ in range(3):
        module(inputs)
    assert module.surrogates["rate"].report().rows == 3 * int(own.sum()) > 0
    rewards = module(inputs).rewards
    assert rewards[~own].tolist() == [7.0] * int((~own).sum())
    of_others = torch.autograd.grad(rewards[~own].sum(), hand(module, "first").net.bias, retain_graph=True)[0]
    assert of_others.abs().max() == 0
    assert torch.autograd.grad(rewards[own].sum(), hand(module, "first").net.bias)[0].abs().max() > 0
    module.close()


def test_answers_that_stand_from_a_pass_before_are_learnt_from_and_pass_a_gradient(tmp_path: Path) -> None:
    module, inputs = passed(tmp_path), rows(64)
    batch = module.batch(inputs, keep_pure=True)
    for _ in range(3):
        outcome = module(batch)
    assert outcome.runs[0].steps[1].reused_from
    assert module.surrogates["rate"].report().rows == 3 * 64
    assert outcome.backward().norms["first"] > 0
    module.close()


def test_what_a_pass_that_raised_was_answered_is_forgotten(tmp_path: Path) -> None:
    steps = STEPS.replace("ESTIMATOR", "estimator: surrogate").replace("worth", "judged")
    module = module_of(tmp_path, steps, head=HEAD.replace("worth", "judged"))
    bad, good = ([RunRequest(input=each, reference=told) for each in rows(16)] for told in ("much", 1.0))
    with pytest.raises(ValueError, match="too many dimensions"):
        module.eval()(bad)
    module.train()(good)
    assert module.surrogates["rate"].report().rows == 16


def test_two_modules_of_the_same_files_learn_the_same_online(tmp_path: Path) -> None:
    found = []
    for _ in range(2):
        module = passed(tmp_path)
        for start in range(3):
            module(rows(64 + start))
        found.append(module.surrogates["rate"].card)
        module.close()
    assert found[0] == found[1]
    assert found[0].kind == "surrogate"


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        (
            STEPS.replace("rated", "worded").replace("state: steps.one.state", "by: input.name"),
            "its input 'by' is no numbers",
        ),
        (
            STEPS.replace("rated", "same").replace("score: steps.one.score, state:", "value:"),
            "its schema tells no field of its answer as numbers of a known count",
        ),
        (
            STEPS.replace("steps.one.score, state: steps.one.state", "input.n, state: input.x"),
            "computed by a module that",
        ),
        (STEPS.replace("steps.rate.score", "steps.one.score"), "no module reads what it answers"),
    ],
)
def test_a_step_that_no_gradient_can_pass_is_refused_by_name(tmp_path: Path, steps: str, text: str) -> None:
    with pytest.raises(UsageError, match=f"'rate' cannot have the estimator 'surrogate': .*{text}"):
        module_of(tmp_path, steps.replace("ESTIMATOR", "estimator: surrogate"), head=HEAD)


def test_a_module_has_a_gradient_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="`estimator` has no effect: gradients pass 'first' as it is"):
        module_of(tmp_path, "  - {name: one, component: first, estimator: surrogate, input_mapping: {x: input.x}}\n")


def test_runs_in_which_the_step_was_not_asked_are_an_error(tmp_path: Path) -> None:
    module = passed(tmp_path)
    with pytest.raises(LearningError, match="none of 0 runs tells what step 'rate' answers"):
        module.fit_surrogates([])
