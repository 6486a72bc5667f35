"""A joint training in which a component is perturbed: learnt from, resumed, never evaluated, marked in the store."""

import shutil
from pathlib import Path

import pytest
import torch

import stretto
from stretto.components.torch.component import TorchComponent
from stretto.learn import Perturbation
from stretto.types.errors import UsageError
from tests.unit.learn.joint.made import held_out, trained, workflow

ALL = Perturbation(share=0.5, noise=0.5, random=True)


def test_its_runs_are_counted_apart_marked_in_the_store_and_evaluated_never(tmp_path: Path) -> None:
    workflow(tmp_path)
    result = trained(tmp_path, perturb={"router": ALL}, updates=8, batch_size=16, patience=None)
    told = [report.perturbed for report in result.reports[1:]]
    assert 0.25 < sum(told) / (8 * 16) < 0.75
    with stretto.Store(tmp_path / "runs.db") as store:
        runs = [*store.runs()]
    marked = [run for run in runs if run.simulated]
    assert len(marked) == sum(told)
    assert all(run.labels["purpose"] == "train" for run in marked)
    evaluated = [run for run in runs if run.labels["purpose"] != "train"]
    assert evaluated
    assert not any(run.simulated for run in evaluated)
    assert held_out([*result.reports])[0] == held_out([*trained(tmp_path, place="plain", updates=1).reports])[0]


def test_the_reward_of_an_update_is_of_the_runs_that_were_left_alone(tmp_path: Path) -> None:
    workflow(tmp_path)
    all_of_them = trained(tmp_path, perturb={"router": Perturbation(share=1.0, random=True)}).reports[1]
    assert (all_of_them.perturbed, all_of_them.reward_mean) == (8, None)
    assert not all_of_them.skipped


def test_it_goes_on_only_by_a_file_of_the_same_weights(tmp_path: Path) -> None:
    made = workflow(tmp_path)
    given = worse(made, tmp_path)
    trained(tmp_path, perturb={"router": given}, updates=2)
    shutil.copy(other(made).save(tmp_path / "others"), tmp_path / "early.safetensors")
    with pytest.raises(UsageError, match=r"what perturbs 'router' was .*early.safetensors \("):
        trained(tmp_path, resume=True, updates=4, perturb={"router": given})


@pytest.mark.parametrize(
    ("name", "told"),
    [("rooter", "no component 'rooter' of kind torch"), ("right", "it gives a reward")],
)
def test_what_cannot_be_perturbed_is_refused_before_anything_is_kept(tmp_path: Path, name: str, told: str) -> None:
    workflow(tmp_path)
    with pytest.raises(UsageError, match=told):
        trained(tmp_path, perturb={name: ALL})
    assert not (tmp_path / "training").exists()


def other(made: stretto.Workflow) -> TorchComponent:
    """The router with other weights."""
    router = made.component("router")
    assert isinstance(router, TorchComponent)
    with torch.no_grad():
        for parameter in router.module.parameters():
            parameter.mul_(-1.0).add_(0.5)
    return router.with_module(router.module)


def worse(made: stretto.Workflow, folder: Path) -> Perturbation:
    """Weights of the router, in a file of a plain name."""
    router = made.component("router")
    assert isinstance(router, TorchComponent)
    path = router.save(folder / "early").rename(folder / "early.safetensors")
    return Perturbation(share=0.5, worse=(str(path),))
