"""A joint training from its first update to its last."""

import asyncio
import random
from collections import Counter
from pathlib import Path

import pytest
import torch

import stretto
from stretto.components.torch.component import TorchComponent
from stretto.learn.joint import ComponentOptions
from stretto.learn.joint.options import Evaluated, Kept
from stretto.learn.joint.report import Reach
from stretto.learn.tasks import Task
from stretto.types.errors import InputError
from tests.unit.learn.joint.made import held_out, tasks, trained, workflow


def weights(made: stretto.Workflow, name: str) -> dict[str, torch.Tensor]:
    component = made.component(name)
    assert isinstance(component, TorchComponent)
    return component.module.state_dict()


@pytest.mark.parametrize("estimator", ["score", "enumerate", "straight-through"])
def test_the_held_out_reward_rises_and_the_best_weights_are_kept(tmp_path: Path, estimator: str) -> None:
    workflow(tmp_path, estimator=estimator)
    result = trained(tmp_path, updates=40, patience=None)
    rewards = held_out([*result.reports])
    assert rewards[0] < 0.75 < 0.85 < max(rewards)
    assert result.best.reward_mean == max(rewards)
    assert [report.update for report in result.reports] == [*range(41)]
    for name, path in result.checkpoints.items():
        served = stretto.load(tmp_path / "workflow.yaml").component(name)
        assert isinstance(served, TorchComponent)
        assert served.with_weights(str(path)).weights_digest == result.best.weights[name]
        assert result.workflow.component(name).card.digest != served.card.digest


def test_each_report_tells_the_gradient_of_each_component_that_has_parameters(tmp_path: Path) -> None:
    workflow(tmp_path)
    first, *others = trained(tmp_path, components={"router": ComponentOptions(clip_norm=1e-3)}).reports
    assert (first.update, first.gradients) == (0, {})
    for report in others:
        assert {name: each.reach for name, each in report.gradients.items()} == {
            "reader": Reach.STEPPED,
            "router": Reach.CLIPPED,
        }
        assert report.gradients["router"].norm > 1e-3
        assert report.runs == report.update * 8


def test_what_is_frozen_stays_as_it_is_to_the_last_count(tmp_path: Path) -> None:
    made = workflow(tmp_path)
    result = trained(tmp_path, components={"reader": ComponentOptions(frozen=True)})
    assert result.reports[-1].gradients["reader"].reach is Reach.FROZEN
    assert set(result.checkpoints) == {"router"}
    before, after = weights(made, "reader"), weights(result.workflow, "reader")
    assert all(torch.equal(before[key], after[key]) for key in before)  # running means of BatchNorm among them
    assert not torch.equal(weights(made, "router")["net.weight"], weights(result.workflow, "router")["net.weight"])


def test_training_ends_when_nothing_gets_better(tmp_path: Path) -> None:
    workflow(tmp_path)
    result = trained(tmp_path, updates=50, learning_rate=1e-9, evaluate_every=1, patience=3)
    assert result.has_ended_early
    assert len(result.reports) == 4
    assert result.best.update == 0


def test_tasks_are_held_to_the_contract_by_name(tmp_path: Path) -> None:
    workflow(tmp_path)
    wrong = Task(name="short", input={"x": [1.0]}, labels={"split": "train"})
    with pytest.raises(InputError, match="the input of task 'short'"):
        trained(tmp_path, [*tasks(), wrong])
    assert not (tmp_path / "training").exists()


@pytest.mark.parametrize("estimator", ["score", "enumerate"])
def test_an_evaluation_of_the_likeliest_is_what_the_engine_makes_of_the_weights(tmp_path: Path, estimator: str) -> None:
    made = workflow(tmp_path, estimator=estimator)
    result = trained(tmp_path, updates=4, evaluation=Evaluated.LIKELIEST)
    kept = [run for run in made.store.runs(purpose="evaluate") if run.labels["group"].startswith("4/")]
    assert len(kept) == 9
    rewards = [run.reward for run in kept if run.reward is not None]
    assert sum(rewards) / 9 == pytest.approx(held_out([*result.reports])[-1])
    for run in kept:
        (chosen,) = (action for step in run.steps for action in step.actions)
        assert (chosen.propensity, chosen.logprob > -0.7) == (1.0, True)  # the likelier of two


def test_a_run_of_an_update_and_of_an_evaluation_is_in_the_store_pinned_to_the_weights_that_made_it(
    tmp_path: Path,
) -> None:
    made = workflow(tmp_path)
    result = trained(tmp_path, updates=2)
    assert Counter(run.labels["group"].partition("/")[0] for run in made.store.runs(purpose="train")) == {
        "1": 8,
        "2": 8,
    }
    last = [run for run in made.store.runs(purpose="evaluate") if run.labels["group"].startswith("2/")]
    pins = {run.manifest.components["router"] for run in last}
    assert pins == {result.workflow.plan.manifest.components["router"]}
    assert {run.labels["task"] for run in last}.isdisjoint(
        run.labels["task"] for run in made.store.runs(purpose="train")
    )
    trained(tmp_path, updates=2, place="other", keep=Kept.HELD_OUT)
    assert len(list(made.store.runs(purpose="train"))) == 16
    assert len(list(made.store.runs(purpose="evaluate"))) == 2 * 2 * 9


def test_a_training_goes_on_inside_a_running_event_loop_too(tmp_path: Path) -> None:
    workflow(tmp_path)

    async def inside() -> int:
        return len(trained(tmp_path, updates=1).reports)

    assert asyncio.run(inside()) == 2


def test_draws_of_the_caller_go_on_as_if_nothing_had_been_trained(tmp_path: Path) -> None:
    workflow(tmp_path)
    torch.manual_seed(3)
    random.seed(3)
    before = torch.rand(1).item(), random.random()
    torch.manual_seed(3)
    random.seed(3)
    trained(tmp_path, updates=1)
    assert (torch.rand(1).item(), random.random()) == before
