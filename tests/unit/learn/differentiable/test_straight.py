"""Modules called straight on come to what they come to one by one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import stretto
from benchmarks.gradients.overhead import SHAPES, WORKFLOW
from stretto.components.torch.component import TorchComponent
from stretto.learn import as_module
from stretto.learn.differentiable.module import DifferentiableWorkflow
from stretto.learn.differentiable.passes import Passes
from stretto.learn.differentiable.stretches import Stretch
from stretto.types.errors import ContractError
from tests.unit.learn.differentiable.chained import HEAD, STEPS, Counting, counting
from tests.unit.learn.differentiable.made import loaded, rows


def told_by(module: DifferentiableWorkflow, requests: Any) -> dict[str, Any]:
    """What a pass comes to, with the noise of dropout and the seeds of choices held."""
    torch.manual_seed(7)
    module.zero_grad()
    outcome = module(requests, seeds=range(len(requests)))
    gradients = outcome.backward()
    return {
        "steps": [
            [(step.path, step.status, step.input, step.output, step.actions, step.rewards) for step in run.steps]
            for run in outcome.runs
        ],
        "rewards": [(run.status, run.rewards) for run in outcome.runs],
        "loss": outcome.loss.item(),
        "grads": {name: each.grad for name, each in module.named_parameters() if each.grad is not None},
        "norms": gradients.norms,
    }


def noted_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Passes, "may_be_whole", lambda _: False)


def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    noted_at_once(monkeypatch)
    monkeypatch.setattr(Stretch, "_done", lambda *_: 0)


def networks(folder: Path) -> DifferentiableWorkflow:
    return as_module(stretto.load(WORKFLOW, store=folder / "runs.db"))


def requests_of(references: list[Any]) -> list[stretto.RunRequest]:
    torch.manual_seed(0)
    return [
        stretto.RunRequest(
            input={name: torch.rand(shape).tolist() for name, shape in SHAPES.items()}, reference=reference
        )
        for reference in references
    ]


@pytest.mark.parametrize("instead", [noted_at_once, one_by_one])
@pytest.mark.parametrize(
    "references",
    [
        [{"defaulted": True}, {"defaulted": False}, {"defaulted": True}],
        [{"defaulted": True}, None, {"defaulted": False}, None],
    ],
    ids=["all known", "some rewards unknown"],
)
def test_real_networks_come_to_the_same(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    references: list[Any],
    instead: Callable[[pytest.MonkeyPatch], None],
) -> None:
    module, requests = networks(tmp_path), requests_of(references)
    straight = told_by(module, requests)
    instead(monkeypatch)
    single = told_by(module, requests)
    grads, others = straight.pop("grads"), single.pop("grads")
    assert straight == single
    assert grads.keys() == others.keys()
    assert all(torch.equal(grad, others[name]) for name, grad in grads.items())


def test_each_is_called_once_a_pass(tmp_path: Path) -> None:
    module = counting(tmp_path, "second")
    module(rows(3))
    module(rows(3))
    counted = module.module_of("second")
    assert isinstance(counted, Counting)
    assert counted.calls == 2


@pytest.mark.parametrize("of", [torch.float32, torch.bfloat16])
def test_what_is_of_another_precision_is_read_as_it_is_declared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of: torch.dtype
) -> None:
    module = counting(tmp_path, "first", lambda told: {key: value.to(of) for key, value in told.items()})
    straight = told_by(module, rows(3))
    one_by_one(monkeypatch)
    single = told_by(module, rows(3))
    assert (straight["steps"], straight["loss"]) == (single["steps"], single["loss"])


class Reuses(nn.Module):
    """Returns one dictionary of its own, filled anew in each call."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner, self.told = inner, dict[str, Tensor]()

    def forward(self, **fields: Any) -> dict[str, Tensor]:
        self.told.update(self.inner(**fields))
        return self.told


def test_a_dictionary_that_a_module_fills_again_is_read_as_it_was_returned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = STEPS.replace(
        "  - {name: choose",
        "  - {name: more, component: second, input_mapping: {state: steps.two.state}}\n  - {name: choose",
    )
    workflow = loaded(tmp_path, again, head=HEAD)
    component = workflow.component("second")
    assert isinstance(component, TorchComponent)
    module = as_module(workflow.with_component(component.with_module(Reuses(component.module))))
    straight = told_by(module, rows(3))
    one_by_one(monkeypatch)
    assert straight["steps"] == told_by(module, rows(3))["steps"]


@pytest.mark.parametrize("instead", [None, noted_at_once, one_by_one], ids=["whole", "noted at once", "one by one"])
def test_a_reward_that_nothing_gives_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, instead: Callable[[pytest.MonkeyPatch], None] | None
) -> None:
    if instead is not None:
        instead(monkeypatch)
    module = as_module(loaded(tmp_path, "\n".join(STEPS.splitlines()[:3])))
    outcome = module(rows(3))
    assert outcome.rewards.isnan().all()
    assert not outcome.known.any()
    assert [run.reward for run in outcome.runs] == [None] * 3


def spoil(logits: Tensor) -> Tensor:
    return torch.where(logits[:, :1] > 0.4, torch.nan, logits)


def test_a_row_without_probabilities_fails_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = counting(tmp_path, "chooser", spoil)
    straight = told_by(module, rows(3))
    assert {status.value for status, _ in straight["rewards"]} == {"failed", "ok"}
    one_by_one(monkeypatch)
    assert straight["steps"] == told_by(module, rows(3))["steps"]


def test_what_was_called_before_it_is_not_called_again(tmp_path: Path) -> None:
    workflow = loaded(tmp_path, STEPS, head=HEAD)
    afters: dict[str, Callable[[Any], Any]] = {"second": lambda told: told, "chooser": spoil}
    for name, after in afters.items():
        component = workflow.component(name)
        assert isinstance(component, TorchComponent)
        workflow = workflow.with_component(component.with_module(Counting(component.module, after)))
    module = as_module(workflow)
    assert {run.status.value for run in module(rows(3)).runs} == {"failed", "ok"}
    counted = module.module_of("second")
    assert isinstance(counted, Counting)
    assert counted.calls == 1


@pytest.mark.parametrize("fails", [True, False], ids=["raises", "returns another shape"])
def test_what_is_wrong_is_said_as_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    def wrong(told: dict[str, Tensor]) -> Any:
        if fails:
            raise ValueError("no such thing")
        return {**told, "state": told["state"][:, :1]}

    module = counting(tmp_path, "first", wrong)
    with pytest.raises((ValueError, ContractError)) as straight:
        module(rows(3))
    one_by_one(monkeypatch)
    with pytest.raises((ValueError, ContractError)) as single:
        module(rows(3))
    assert (str(straight.value), straight.type) == (str(single.value), single.type)


class Unwatched(nn.Module):
    """Keeps no graph, nor counts writes."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner, self.calls = inner, 0

    def forward(self, **fields: Any) -> Any:
        self.calls += 1
        with torch.inference_mode():
            return self.inner(**fields)


ACROSS = """
  - {name: one, component: first, input_mapping: {x: input.x}}
  - {name: told, component: rated, input_mapping: {score: steps.one.score, state: steps.one.state}}
  - {name: choose, component: chooser, input_mapping: {state: steps.one.state}}
  - {name: worth, component: worth, input_mapping: {score: steps.one.score}}
"""


def test_a_module_that_computes_in_inference_mode_is_called_once(tmp_path: Path) -> None:
    workflow = loaded(tmp_path, ACROSS, head=HEAD)
    component = workflow.component("first")
    assert isinstance(component, TorchComponent)
    module = as_module(workflow.with_component(component.with_module(Unwatched(component.module))))
    with torch.no_grad():
        outcome = module(rows(3))
    assert [run.status.value for run in outcome.runs] == ["ok"] * 3
    counted = module.module_of("first")
    assert isinstance(counted, Unwatched)
    assert counted.calls == 1


def test_a_write_to_an_input_of_another_precision_is_refused_as_one_by_one(tmp_path: Path) -> None:
    workflow = loaded(tmp_path, STEPS, head=HEAD)

    class Writes(nn.Module):
        def __init__(self, inner: nn.Module) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, state: Tensor) -> Any:
            return self.inner(state=state.mul_(2.0))

    first, second = workflow.component("first"), workflow.component("second")
    assert isinstance(first, TorchComponent)
    assert isinstance(second, TorchComponent)
    half = Counting(first.module, lambda told: {key: value.bfloat16() for key, value in told.items()})
    module = as_module(
        workflow.with_component(first.with_module(half)).with_component(second.with_module(Writes(second.module)))
    )
    with pytest.raises(ContractError, match="component 'second' at step 'two' writes to its input 'state' in place"):
        module(rows(3))
