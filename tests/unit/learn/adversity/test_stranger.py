"""A component that is no module, perturbed while modules around it learn."""

from pathlib import Path
from typing import Any

import pytest
import torch

import stretto
from stretto.learn import Perturbation, as_module
from stretto.learn.differentiable.module import DifferentiableWorkflow
from stretto.types.errors import UsageError
from tests.unit.learn.differentiable.made import grads_of, hand, rows, xs

COMPONENTS = """
from typing import Annotated, Literal, TypedDict

import torch
from torch import Tensor, nn

import stretto
from stretto import OneOf, Shape

WAYS = ("a", "b", "c")

class Said(TypedDict):
    answer: Literal["yes", "no"]

class Talk(TypedDict):
    answer: str

@stretto.differentiable("chooser", inputs=["state"], chooses={"way": WAYS})
class Chooser(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(2, 3).double()

    def forward(self, state: Annotated[Tensor, Shape(2, dtype="float64")]) -> Tensor:
        return self.net(state)

@stretto.component("bank", effects="pure", inline=True)
def bank(way: str) -> Said:
    return {"answer": "yes" if way == "a" else "no"}

@stretto.component("stern", effects="pure", inline=True)
def stern(way: str) -> Said:
    return {"answer": "no"}

@stretto.component("talks", effects="pure", inline=True)
def talks(way: str) -> Talk:
    return {"answer": "yes"}

@stretto.component("opened", effects="pure", inline=True)
class Opened:
    async def open(self) -> None:
        pass

    def __call__(self, way: str) -> Said:
        return {"answer": "no"}

@stretto.differentiable("worth", inputs=["answer"], rewards=["worth"])
def worth(answer: Annotated[Tensor, OneOf("yes", "no")]) -> Annotated[Tensor, Shape()]:
    return answer[:, 0] * 1.0

@stretto.reward(inline=True)
def judge(answer: str) -> float:
    return float(answer == "yes")
"""

WORKFLOW = """
stretto: 1
name: made
components: components.py
contract: {reward: {REWARD: 1.0}}
steps:
  - {name: choose, component: chooser, estimator: score, input_mapping: {state: input.x}}
  - {name: ask, component: ASKED, input_mapping: {way: steps.choose.way}}
  - {name: REWARD, component: REWARD, input_mapping: {answer: steps.ask.answer}}
output: {answer: steps.ask.answer}
"""


def loaded(folder: Path, asked: str = "bank", reward: str = "worth") -> stretto.Workflow:
    (folder / "components.py").write_text(COMPONENTS)
    (folder / "workflow.yaml").write_text(WORKFLOW.replace("ASKED", asked).replace("REWARD", reward))
    return stretto.load(folder / "workflow.yaml", store=folder / "runs.db")


def made(folder: Path, how: Perturbation, **options: str) -> DifferentiableWorkflow:
    workflow = loaded(folder, **options)
    return as_module(workflow, perturb={options.get("asked", "bank"): how})


def test_random_answers_are_valid_and_marked(tmp_path: Path) -> None:
    module, inputs = made(tmp_path, Perturbation(share=0.5, random=True)), rows(80)
    outcome = module(inputs, seeds=range(80))
    assert 20 < len(outcome.perturbed) < 60
    told = [run.steps[1] for run in outcome.runs]
    struck = {row for row, step in enumerate(told) if step.evidence.get("perturbed") == {"kind": "random"}}
    assert struck == outcome.perturbed == {row for row, run in enumerate(outcome.runs) if run.simulated}
    answers = [told[row].output_value["answer"] for row in sorted(struck)]
    assert {"yes", "no"} == set(answers)
    for row, step in enumerate(told):
        if row not in struck:
            assert step.output_value["answer"] == ("yes" if step.input_value["way"] == "a" else "no")
    assert outcome.outputs["answer"] == [step.output_value["answer"] for step in told]
    again = module(inputs, seeds=range(80))
    assert again.perturbed == outcome.perturbed
    assert again.outputs["answer"] == outcome.outputs["answer"]
    module.close()


def test_whoever_chose_before_it_is_scored_by_what_came_of_it(tmp_path: Path) -> None:
    module, inputs = made(tmp_path, Perturbation(share=0.5, random=True)), rows(60)
    outcome = module(inputs, seeds=range(60))
    found = grads_of(module, outcome.loss)
    chosen = torch.tensor(["abc".index(run.steps[0].output_value["way"]) for run in outcome.runs])
    reward = torch.tensor([float(answer == "yes") for answer in outcome.outputs["answer"]], dtype=torch.float64)
    assert torch.equal(outcome.rewards.double(), reward)
    log_p = hand(module, "chooser")(xs(inputs)).log_softmax(-1)[torch.arange(60), chosen]
    by_hand = grads_of(module, -(log_p * (reward - (reward.sum() - reward) / 59)).mean())
    assert all(torch.allclose(found[name], each, rtol=1e-6) for name, each in by_hand.items())
    module.close()


@pytest.mark.parametrize("reward", ["worth", "judge"])
def test_another_component_answers_in_its_place(tmp_path: Path, reward: str) -> None:
    stern = loaded(tmp_path).component("stern")
    module = made(tmp_path, Perturbation(share=0.5, worse=[stern]), reward=reward)
    outcome = module(rows(60), seeds=range(60))
    assert outcome.perturbed
    for row in outcome.perturbed:
        step = outcome.runs[row].steps[1]
        assert step.evidence["perturbed"] == {"kind": "worse", "version": stern.card.digest}
        assert (step.component, step.output_value) == ("bank", {"answer": "no"})
        assert outcome.runs[row].reward == 0.0
    module.close()


def test_answers_that_stand_in_later_passes_are_those_of_the_component(tmp_path: Path) -> None:
    module = made(tmp_path, Perturbation(share=0.5, random=True))
    batch = module.batch(rows(40))
    module(batch, seeds=range(40))
    again = module.eval()(batch, seeds=range(40))
    assert not again.perturbed
    for run in again.runs:
        assert run.steps[1].output_value["answer"] == ("yes" if run.steps[1].input_value["way"] == "a" else "no")
        assert not run.simulated
    module.close()


@pytest.mark.parametrize(
    ("asked", "how", "told"),
    [
        ("bank", {"noise": 0.1}, "it answers one at a time, so nobody knows what its numbers vary by"),
        ("talks", {"random": True}, "nobody can say what a random value of answer would be"),
        ("bank", {"worse": ["x.safetensors"]}, "'x.safetensors' is a file, and it is of kind python, without weights"),
        ("bank", {"worse": ["opened"]}, "the version 'opened' must be opened"),
        ("judge", {"random": True}, "it gives a reward"),
    ],
)
def test_what_cannot_be_done_is_refused(tmp_path: Path, asked: str, how: dict[str, Any], told: str) -> None:
    workflow = loaded(tmp_path, "talks" if asked == "talks" else "bank", "judge")
    if how.get("worse") == ["opened"]:
        how = {"worse": [workflow.component("opened")]}
    with pytest.raises(UsageError, match=told):
        as_module(workflow, perturb={asked: Perturbation(**how)})
