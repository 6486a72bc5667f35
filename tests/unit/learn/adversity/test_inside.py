"""A differentiable component that is perturbed: which runs, what it computes, what learns from it, what is recorded."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from stretto.components.torch.component import TorchComponent
from stretto.learn import as_module
from stretto.learn.adversity.perturbation import Perturbation
from stretto.learn.completeness import Made
from stretto.learn.differentiable.module import DifferentiableWorkflow
from stretto.learn.usable import Exclusion, Recorded, Rules, UsableRuns
from stretto.types.errors import UsageError
from tests.unit.learn.differentiable.made import grads_of, hand, loaded, rows, same, xs

CHAIN = """
  - {name: one, component: first, input_mapping: {x: input.x}}
  - {name: two, component: second, input_mapping: {state: steps.one.state}}
  - {name: worth, component: worth, input_mapping: {score: steps.two.score}}
"""
WORTH = "contract: {reward: {worth: 1.0}}"
TWO = "{state: steps.two.state}"
CHOICE = """
  - {name: one, component: first, input_mapping: {x: input.x}}
  - {name: choose, component: chooser, estimator: score, input_mapping: {state: steps.one.state}}
  - {name: reward, component: of_way, input_mapping: {way: steps.choose.way}}
"""
OF_WAY = "contract: {reward: {of_way: 1.0}}"


def made(
    folder: Path, name: str, how: Perturbation, *, steps: str = CHAIN, head: str = WORTH, output: str = TWO
) -> DifferentiableWorkflow:
    return as_module(loaded(folder, steps, head=head, output=output), perturb={name: how})


def other_second(folder: Path) -> TorchComponent:
    """A version of `second` with other weights."""
    component = loaded(folder, CHAIN, head=WORTH).component("second")
    assert isinstance(component, TorchComponent)
    module = component.module
    with torch.no_grad():
        for each in module.parameters():
            each.mul_(-0.5).add_(0.25)
    return component.with_module(module)


def struck(module: DifferentiableWorkflow, count: int, seed: int = 0) -> list[int]:
    return sorted(module(rows(count), seeds=range(seed, seed + count)).perturbed)


def test_a_run_is_perturbed_by_its_seed_alone(tmp_path: Path) -> None:
    module = made(tmp_path, "second", Perturbation(share=0.25, random=True))
    found = struck(module, 400)
    assert 60 < len(found) < 140
    assert struck(module, 200) == [row for row in found if row < 200]
    assert struck(module, 200, seed=200) == [row - 200 for row in found if row >= 200]
    one = module(rows(50), seeds=range(50))
    assert torch.equal(one.rewards, module(rows(50), seeds=range(50)).rewards)
    assert not torch.equal(one.rewards, module(rows(50), seeds=range(50, 100)).rewards)


def test_noise_is_measured_in_what_the_output_varies_by(tmp_path: Path) -> None:
    module, inputs = made(tmp_path, "second", Perturbation(share=0.5, noise=0.3)), rows(2000)
    outcome = module(inputs, seeds=range(2000))
    chosen = sorted(outcome.perturbed)
    clean = hand(module, "second")(hand(module, "first")(xs(inputs))["state"])["state"].detach()
    apart = (outcome.outputs["state"] - clean).detach() / clean.std(0, correction=0)
    assert torch.allclose(apart[chosen].std(0), torch.tensor(0.3, dtype=torch.float64), atol=0.02)
    assert apart[chosen].mean(0).abs().max() < 0.04
    left_alone = [row for row in range(2000) if row not in outcome.perturbed]
    assert apart[left_alone].abs().max() == 0.0


def test_noise_on_inputs_is_what_the_module_is_given_and_no_record_of_what_it_was_asked(tmp_path: Path) -> None:
    module, inputs = made(tmp_path, "second", Perturbation(share=1.0, noise=0.5, noise_on="inputs")), rows(50)
    given: list[Tensor] = []
    hand(module, "second").register_forward_pre_hook(
        lambda _, __, kwargs: given.append(kwargs["state"].detach()), with_kwargs=True
    )
    outcome = module(inputs, seeds=range(50))
    asked = hand(module, "first")(xs(inputs))["state"].detach()
    assert 0.2 < ((given[0] - asked) / asked.std(0)).std() < 0.8
    assert torch.allclose(torch.tensor([run.steps[1].input_value["state"] for run in outcome.runs]), asked.float())
    assert outcome.runs[0].steps[1].evidence == {"perturbed": {"kind": "noise", "noise": 0.5, "on": "inputs"}}


def test_gradients_are_those_of_the_same_modules_at_what_the_noise_made_of_it(tmp_path: Path) -> None:
    module, inputs = made(tmp_path, "first", Perturbation(share=0.5, noise=0.4)), rows(9)
    outcome = module(inputs, seeds=range(9))
    assert 0 < len(outcome.perturbed) < 9
    state = hand(module, "first")(xs(inputs))["state"]
    seen = torch.tensor([run.steps[1].input_value["state"] for run in outcome.runs], dtype=torch.float64)
    worth = hand(module, "second")(state + (seen - state.detach()))["score"]
    assert torch.allclose(outcome.rewards, worth)
    assert same(grads_of(module, outcome.loss), grads_of(module, -worth.mean()))


def test_another_version_answers_and_only_whoever_asked_it_learns_from_that(tmp_path: Path) -> None:
    other = other_second(tmp_path)
    module, inputs = made(tmp_path, "second", Perturbation(share=0.5, worse=[other])), rows(9)
    outcome = module(inputs, seeds=range(9))
    state = hand(module, "first")(xs(inputs))["state"]
    own, others = hand(module, "second")(state)["score"], other.module(state)["score"]
    mask = torch.tensor([row in outcome.perturbed for row in range(9)])
    assert 0 < mask.sum() < 9
    worth = torch.where(mask, others, own)
    assert torch.allclose(outcome.rewards, worth)
    found = grads_of(module, outcome.loss)
    assert all(each.grad is None for each in other.module.parameters())
    assert same(found, grads_of(module, -worth.mean()))
    row = min(outcome.perturbed)
    assert outcome.runs[row].steps[1].evidence["perturbed"] == {"kind": "worse", "version": other.weights_digest}


def test_several_versions_and_kinds_take_turns(tmp_path: Path) -> None:
    other = other_second(tmp_path)
    file = other.save(tmp_path / "weights")
    own = loaded(tmp_path, CHAIN, head=WORTH).component("second")
    how = Perturbation(share=1.0, worse=[file, own], random=True)
    runs = made(tmp_path, "second", how)(rows(120), seeds=range(120)).runs
    told = [run.steps[1].evidence["perturbed"] for run in runs]
    counts = {kind: sum(each["kind"] == kind for each in told) for kind in ("worse", "random", "noise")}
    assert counts["noise"] == 0
    assert 40 < counts["worse"] < 80
    versions = [each["version"] for each in told if each["kind"] == "worse"]
    assert 15 < versions.count(other.weights_digest) < len(versions) - 15
    assert len(set(versions)) == 2


def test_a_random_answer_is_that_of_another_run_and_teaches_neither_the_module_nor_whoever_asked(
    tmp_path: Path,
) -> None:
    module, inputs = made(tmp_path, "second", Perturbation(share=0.5, random=True)), rows(9)
    outcome = module(inputs, seeds=range(9))
    score = hand(module, "second")(hand(module, "first")(xs(inputs))["state"])["score"]
    mask = torch.tensor([row in outcome.perturbed for row in range(9)])
    for row in outcome.perturbed:
        others = torch.cat([score[:row], score[row + 1 :]]).detach()
        assert (outcome.rewards[row] - others).abs().min() < 1e-12
    worth = torch.where(mask, outcome.rewards.detach(), score)
    assert same(grads_of(module, outcome.loss), grads_of(module, -worth.mean()))


def test_a_random_choice_is_any_of_the_alternatives_and_is_no_choice_of_the_module(tmp_path: Path) -> None:
    how = Perturbation(share=1.0, random=True)
    module = made(tmp_path, "chooser", how, steps=CHOICE, head=OF_WAY, output="{way: steps.choose.way}")
    with torch.no_grad():
        hand(module, "chooser").net.bias.copy_(torch.tensor([50.0, 0.0, 0.0]))
    outcome = module(rows(300), seeds=range(300))
    counts = [outcome.outputs["way"].count(way) for way in "abc"]
    assert min(counts) > 70, counts
    assert not outcome.loss.requires_grad or all(
        not bool(each.any()) for each in grads_of(module, outcome.loss).values()
    )
    action = outcome.runs[0].steps[1].actions[0]
    assert action.forced
    assert action.propensity == pytest.approx(1 / 3)


def test_whoever_chose_before_a_perturbed_component_is_scored_by_what_came_of_it(tmp_path: Path) -> None:
    steps = """
  - {name: choose, component: chooser, estimator: score, input_mapping: {state: input.x}}
  - {name: two, component: second, condition: "steps.choose.way == 'a'", input_mapping: {state: input.x}}
  - {name: worth, component: worth, input_mapping: {score: steps.two.score}}
"""
    how = Perturbation(share=0.5, random=True)
    module, inputs = made(tmp_path, "second", how, steps=steps, output="{way: steps.choose.way}"), rows(40)
    outcome = module(inputs, seeds=range(40))
    assert outcome.perturbed
    assert {run.steps[0].output_value["way"] for run in outcome.runs} == {"a", "b", "c"}
    found = grads_of(module, outcome.loss)
    log_p = hand(module, "chooser")(xs(inputs)).log_softmax(-1)
    chosen = torch.tensor(["abc".index(way) for way in outcome.outputs["way"]])
    reward = outcome.rewards.detach()
    others = (reward.sum() - reward) / 39
    scored = -(log_p[torch.arange(40), chosen] * (reward - others)).mean()
    by_hand = grads_of(module, scored)
    for name, each in by_hand.items():
        assert torch.allclose(found[name], each, rtol=1e-6), name


def test_every_life_of_a_run_is_perturbed_alike(tmp_path: Path) -> None:
    steps = """
  - {name: one, component: chooser, estimator: enumerate, input_mapping: {state: input.x}}
  - {name: two, component: chooser, estimator: score, input_mapping: {state: input.x}}
  - {name: reward, component: both, input_mapping: {one: steps.one.way, two: steps.two.way}}
"""
    how = Perturbation(share=0.5, noise=0.5)
    module = made(
        tmp_path, "chooser", how, steps=steps, head="contract: {reward: {both: 1.0}}", output="{way: steps.two.way}"
    )
    outcome = module(rows(30), seeds=range(30))
    assert 5 < len(outcome.perturbed) < 25
    marked = {row for row, run in enumerate(outcome.runs) if run.simulated}
    assert marked == outcome.perturbed
    for run in outcome.runs:
        assert {"perturbed" in step.evidence for step in run.steps[:2]} == {run.simulated}


def test_the_record_says_so_and_folds_leave_the_run_out(tmp_path: Path) -> None:
    module = made(tmp_path, "second", Perturbation(share=0.5, random=True))
    outcome = module(rows(9), seeds=range(9))
    usable = UsableRuns(component="second", made=Made.ACTIONS, rules=Rules())
    for row, run in enumerate(outcome.runs):
        marks = [(step.path, step.simulated, step.evidence) for step in run.steps]
        if row in outcome.perturbed:
            assert marks[0][1:] == (False, {})
            assert marks[1] == ("two", True, {"perturbed": {"kind": "random"}})
            assert marks[2][1:] == (True, {})
            assert run.simulated
            assert usable.reward_of(Recorded(run=run)) is None
        else:
            assert not run.simulated
            assert all(mark[1:] == (False, {}) for mark in marks)
    assert usable.excluded[Exclusion.SIMULATED] == len(outcome.perturbed) > 0


def test_nothing_is_perturbed_in_eval_mode(tmp_path: Path) -> None:
    module, inputs = made(tmp_path, "second", Perturbation(share=1.0, random=True)), rows(9)
    assert module(inputs, seeds=range(9)).perturbed
    outcome = module.eval()(inputs, seeds=range(9))
    assert not outcome.perturbed
    score = hand(module, "second")(hand(module, "first")(xs(inputs))["state"])["score"]
    assert torch.equal(outcome.rewards, score)


def test_a_run_alone_has_no_other_to_answer_in_its_place(tmp_path: Path) -> None:
    module = made(tmp_path, "second", Perturbation(share=1.0, random=True, noise=0.5))
    outcome = module(rows(1), seeds=[3])
    assert not outcome.perturbed
    assert not outcome.runs[0].simulated


@pytest.mark.parametrize(
    ("name", "how", "told"),
    [
        ("nobody", {"random": True}, "has no component 'nobody' of kind torch.*it has: first, second"),
        ("worth", {"random": True}, "it gives a reward"),
        ("second", {}, "does nothing"),
        ("second", {"random": True, "share": 0.0}, "share of perturbed runs is 0.0"),
        ("second", {"random": True, "share": 1.5}, "share of perturbed runs is 1.5"),
        ("second", {"noise": -1.0}, "noise of a perturbation is -1.0"),
        ("second", {"noise": float("nan")}, "noise of a perturbation is nan"),
        ("second", {"noise": 1.0, "noise_on": "both"}, "noise_on is 'both'"),
        ("second", {"worse": [print]}, "expected the path of a checkpoint, or a component"),
        ("second", {"worse": ["nowhere.safetensors"]}, "nowhere.safetensors"),
    ],
)
def test_what_cannot_be_done_is_refused(tmp_path: Path, name: str, how: dict[str, Any], told: str) -> None:
    with pytest.raises(Exception, match=told) as raised:
        made(tmp_path, name, Perturbation(**how))
    assert type(raised.value).__name__ in {"UsageError", "StoreError"}


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"share": "half"}, "the share of a perturbation is 'half'; expected a number"),
        ({"share": True}, "the share of a perturbation is True; expected a number"),
        ({"noise": None}, "the noise of a perturbation is None; expected a number"),
        ({"random": "no"}, "random is 'no'; expected True or False"),
        ({"worse": "early.safetensors"}, "worse is 'early.safetensors'; expected a list of checkpoints' paths"),
        ({"worse": Path("early.safetensors")}, "expected a list of checkpoints' paths and components"),
        ({"worse": [None]}, "one of worse is None; expected the path of a checkpoint, or a component"),
    ],
)
def test_a_perturbation_is_held_to_its_types(how: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=re.escape(told)):
        Perturbation(**how)


def test_what_is_no_perturbation_is_refused_by_its_component(tmp_path: Path) -> None:
    wrong: Any = {"noise": 1.0}
    with pytest.raises(UsageError, match=r"perturb\['second'\] is .*; expected a stretto.learn.Perturbation"):
        made(tmp_path, "second", wrong)


def test_a_version_that_takes_or_gives_something_else_is_refused(tmp_path: Path) -> None:
    other = loaded(tmp_path, CHOICE, head=OF_WAY).component("chooser")
    with pytest.raises(UsageError, match="the version 'chooser' returns"):
        made(tmp_path, "second", Perturbation(worse=[other]))


@pytest.mark.parametrize("kind", ["noise", "random", "worse"])
def test_a_component_is_perturbed_in_all_rounds_and_items_of_a_run_or_in_none(tmp_path: Path, kind: str) -> None:
    steps = """
  - name: each
    for_each: "input.states"
    steps:
      - {name: two, component: second, input_mapping: {state: item}}
  - name: again
    repeat:
      max_rounds: 2
      steps:
        - {name: two, component: second, input_mapping: {state: input.x}}
  - {name: worth, component: worth, input_mapping: {score: steps.again.last.two.score}}
"""
    how = Perturbation(
        share=0.5,
        noise=0.5 if kind == "noise" else 0.0,
        random=kind == "random",
        worse=[other_second(tmp_path)] if kind == "worse" else (),
    )
    module = made(tmp_path, "second", how, steps=steps, output="{score: steps.again.last.two.score}")
    inputs = [{**each, "states": [each["x"]] * (1 + row % 3)} for row, each in enumerate(rows(12))]
    outcome = module(inputs, seeds=range(12))
    assert 0 < len(outcome.perturbed) < 12
    for row, run in enumerate(outcome.runs):
        made_by_second = [step for step in run.steps if step.component == "second"]
        assert len(made_by_second) == 3 + row % 3
        assert {"perturbed" in step.evidence for step in made_by_second} == {row in outcome.perturbed}
    assert outcome.backward().norms["second"] > 0


def test_a_random_choice_that_is_enumerated_is_worth_the_mean_of_its_alternatives(tmp_path: Path) -> None:
    steps = CHOICE.replace("estimator: score", "estimator: enumerate")
    how = Perturbation(share=0.5, random=True)
    module = made(tmp_path, "chooser", how, steps=steps, head=OF_WAY, output="{way: steps.choose.way}")
    outcome = module(rows(20), seeds=range(20))
    assert 0 < len(outcome.perturbed) < 20
    for row in outcome.perturbed:
        assert outcome.rewards[row].item() == pytest.approx((1.0 + 3.0 - 2.0) / 3)
    left_alone = [row for row in range(20) if row not in outcome.perturbed]
    p = hand(module, "chooser")(hand(module, "first")(xs(rows(20)))["state"]).softmax(-1)
    worth = (p @ torch.tensor([1.0, 3.0, -2.0], dtype=torch.float64))[left_alone]
    assert torch.allclose(outcome.rewards[left_alone], worth)
    assert same(grads_of(module, outcome.loss), grads_of(module, -worth.sum() / 20), rtol=1e-4)


def test_it_is_perturbed_where_numbers_are_short_too(tmp_path: Path) -> None:
    module = made(tmp_path, "second", Perturbation(share=0.5, noise=0.5, random=True, worse=[other_second(tmp_path)]))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        outcome = module(rows(32), seeds=range(32))
    assert outcome.perturbed
    assert bool(torch.isfinite(outcome.rewards).all())
