"""Modules that no batch can be run with, or that need care: what is said of them, and what is done."""

import copy
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest
import torch
from torch import Tensor, nn

import stretto
from stretto import Shape
from stretto.components.python.decorator import component_of
from stretto.components.torch.component import TorchComponent
from stretto.learn import as_module
from stretto.learn.differentiable.module import DifferentiableWorkflow
from stretto.types.errors import ContractError, UsageError
from tests.unit.learn.differentiable.made import hand, loaded, module_of, rows

STEPS = """
  - {name: one, component: first, input_mapping: {x: input.x}}
  - {name: two, component: second, input_mapping: {state: steps.one.state}}
  - {name: worth, component: worth, input_mapping: {score: steps.two.score}}
"""
HEAD = "contract: {reward: {worth: 1.0}}"


class Hooked(nn.Module):
    """Does something to what another module is given or returns."""

    def __init__(self, inner: nn.Module, before: Callable[[Any], Any], after: Callable[[Any], Any]) -> None:
        super().__init__()
        self.inner, self.before, self.after = inner, before, after

    def forward(self, **fields: Any) -> Any:
        self.before(fields)
        return self.after(self.inner(**fields))


def same(value: Any) -> Any:
    return value


def hooked(
    folder: Path, name: str, *, before: Callable[[Any], Any] = same, after: Callable[[Any], Any] = same
) -> DifferentiableWorkflow:
    workflow = loaded(folder, STEPS, head=HEAD, output="{score: steps.two.score}")
    component = workflow.component(name)
    assert isinstance(component, TorchComponent)
    return as_module(workflow.with_component(component.with_module(Hooked(component.module, before, after))))


@pytest.mark.parametrize(("name", "field", "step"), [("first", "x", "one"), ("second", "state", "two")])
def test_a_module_that_writes_to_its_input_is_told_of(tmp_path: Path, name: str, field: str, step: str) -> None:
    def write(fields: Any) -> None:
        with torch.no_grad():
            fields[field].mul_(2.0)

    module = hooked(tmp_path, name, before=write)
    told = rf"component '{name}' at step '{step}' writes to its input '{field}' in place.*`{field} = {field}.clone\(\)`"
    with pytest.raises(ContractError, match=told):
        module(rows(3))


def test_what_a_module_raises_says_in_which_component_and_step(tmp_path: Path) -> None:
    def fail(fields: Any) -> None:
        raise ValueError("Expected more than 1 value per channel when training")

    with pytest.raises(ValueError, match="more than 1 value") as caught:
        hooked(tmp_path, "second", before=fail)(rows(1))
    (told,) = caught.value.__notes__
    assert re.fullmatch(r"Component 'second' raised it at step 'two' \(test_bad_modules\.py:\d+\)\.", told)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_what_is_of_half_precision_becomes_what_is_declared(tmp_path: Path, dtype: torch.dtype) -> None:
    module = hooked(tmp_path, "second", after=lambda told: {key: value.to(dtype) for key, value in told.items()})
    outcome = module(rows(3))
    score = outcome.outputs["score"]
    assert isinstance(score, Tensor)
    assert score.dtype is torch.float64
    assert [run.status.value for run in outcome.runs] == ["ok"] * 3
    assert outcome.backward().norms["first"] > 0


@stretto.differentiable("counts", inputs=["x"])
def counts(x: Annotated[Tensor, Shape(2)]) -> Annotated[Tensor, Shape(dtype="int64")]:
    return x.sum(1)


def test_real_numbers_are_no_integers_in_a_batch_nor_in_the_engine() -> None:
    component = component_of(counts)
    assert isinstance(component, TorchComponent)
    told = "component 'counts' returned 'result' of float32, where int64 is said; convert it in the module"
    with pytest.raises(ContractError, match=told):
        component.compute(component.module, {"x": torch.ones(2, 2)}, 2)
    assert component.held(torch.ones(2, dtype=torch.bool), 2)["result"].tolist() == [1, 1]


def test_a_component_may_be_called_as_a_method_of_torch_is(tmp_path: Path) -> None:
    loaded(tmp_path, STEPS, head=HEAD)
    for name, old in (("components.py", '"first"'), ("workflow.yaml", "component: first")):
        text = (tmp_path / name).read_text()
        (tmp_path / name).write_text(text.replace(old, old.replace("first", "half")))
    module = as_module(stretto.load(tmp_path / "workflow.yaml", store=tmp_path / "half.db"))
    assert module(rows(3)).backward().norms["half"] > 0
    assert module.get_submodule("half_") is module.module_of("half")


def test_gradients_are_told_of_the_parameters_that_were_assigned(tmp_path: Path) -> None:
    module = module_of(tmp_path, STEPS, head=HEAD)
    state = {name: value.clone() for name, value in module.state_dict().items()}
    module.load_state_dict(state, assign=True)
    told = module(rows(3)).backward()
    assert told.norms["first"] > 0
    assert told.unreached == ()
    with torch.no_grad():
        hand(module, "second").net.weight.fill_(torch.nan)
    module.zero_grad()
    assert "component 'second' at step 'two'" in module(rows(3)).backward().skipped


def other_layer(module: DifferentiableWorkflow) -> None:
    hand(module, "second").net = nn.Linear(2, 2).double()


def other_weight(module: DifferentiableWorkflow) -> None:
    net = hand(module, "second").net
    net.weight = nn.Parameter(net.weight.detach().clone())


def one_more_layer(module: DifferentiableWorkflow) -> None:
    inner = hand(module, "second").net
    hand(module, "second").net = nn.Sequential(nn.Linear(2, 2).double(), inner)


INSIDE = [other_layer, other_weight, one_more_layer]


@pytest.mark.parametrize("put", INSIDE)
def test_what_was_put_inside_a_module_later_has_its_norm_and_is_held_to_numbers(
    tmp_path: Path, put: Callable[[DifferentiableWorkflow], None]
) -> None:
    module = module_of(tmp_path, STEPS, head=HEAD)
    put(module)
    told = module(rows(3)).backward()
    grads = [each.grad for each in module.module_of("second").parameters()]
    by_hand = torch.cat([grad.flatten() for grad in grads if grad is not None]).norm().item()
    assert told.norms["second"] == pytest.approx(by_hand, rel=1e-12)
    assert by_hand > 0
    assert told.unreached == ()
    with torch.no_grad():
        next(module.module_of("second").parameters()).fill_(torch.nan)
    module.zero_grad()
    told = module(rows(3)).backward()
    assert "component 'second' at step 'two'" in told.skipped
    assert module.skipped_updates == 1


@pytest.mark.parametrize("put", INSIDE)
def test_runs_are_not_recorded_under_weights_that_were_put_there_after_them(
    tmp_path: Path, put: Callable[[DifferentiableWorkflow], None]
) -> None:
    module = module_of(tmp_path, STEPS, head=HEAD)
    outcome = module(rows(1))
    put(module)
    with pytest.raises(UsageError, match="the weights have changed since the batch was run"):
        _ = outcome.runs
    assert len(module(rows(1)).runs) == 1


def test_a_module_in_a_components_own_place_is_refused(tmp_path: Path) -> None:
    module = module_of(tmp_path, STEPS, head=HEAD)
    module.second = copy.deepcopy(module.module_of("second"))
    with pytest.raises(UsageError, match=r"in the place of component 'second'.*with_component.*with_module"):
        module(rows(1))
    component = module.workflow.component("second")
    assert isinstance(component, TorchComponent)
    again = as_module(module.workflow.with_component(component.with_module(hand(module, "second"))))
    assert again(rows(1)).backward().norms["second"] > 0


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_module_is_not_copied_but_its_state_is(tmp_path: Path, how: Callable[[Any], Any]) -> None:
    module = module_of(tmp_path, STEPS, head=HEAD)
    with pytest.raises(UsageError, match=r"cannot be copied or pickled.*`state_dict\(\)`.*`trained\(\)`"):
        how(module)


def test_what_a_batch_keeps_may_be_learnt_from_after_a_pass_in_inference_mode(tmp_path: Path) -> None:
    module = module_of(tmp_path, STEPS, head=HEAD)
    batch = module.batch(rows(3))
    with torch.inference_mode():
        before = module(batch).rewards.clone()
    outcome = module(batch)
    assert torch.equal(outcome.rewards.detach(), before)
    assert outcome.backward().norms["first"] > 0


@pytest.mark.parametrize("request_", [{"x": [1.0, 2.0]}, "x"])
def test_one_request_is_no_batch(tmp_path: Path, request_: Any) -> None:
    with pytest.raises(
        UsageError, match=r"a batch is a list of requests, and was given one (dict|str); put it in a list"
    ):
        module_of(tmp_path, STEPS, head=HEAD)(request_)


def test_one_name_is_no_list_of_those_that_learn(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"write train=\['first'\]"):
        as_module(loaded(tmp_path, STEPS, head=HEAD), train="first")


class Steadied(nn.Module):
    """Keeps the mean of what it has seen, as torch's normalizations do."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner, self.norm = inner, nn.BatchNorm1d(2).double()

    def forward(self, **fields: Any) -> Any:
        told = self.inner(**fields)
        return {**told, "state": self.norm(told["state"])}


def test_statistics_that_a_later_pass_moved_are_other_weights(tmp_path: Path) -> None:
    workflow = loaded(tmp_path, STEPS, head=HEAD)
    component = workflow.component("first")
    assert isinstance(component, TorchComponent)
    module = as_module(workflow.with_component(component.with_module(Steadied(component.module))))
    first = module(rows(3))
    before = first.runs[0].manifest
    second = module(rows(3))
    assert second.runs[0].manifest != before
    third = module(rows(3))
    module(rows(3))
    with pytest.raises(UsageError, match="weights have changed"):
        third.runs  # noqa: B018  # they are made when they are asked for


CHOOSES = """
  - {name: chooser, component: chooser, FALLBACK input_mapping: {state: input.x}}
  - {name: outside, component: outside, input_mapping: {way: steps.chooser.way}}
"""
TOO_LARGE = [1e9, 1.0]


class Astray(nn.Module):
    """Has no logits for what is too large."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(2, 3).double()

    def forward(self, state: Tensor) -> Tensor:
        return torch.where(state[:, :1] > 1e6, torch.nan, self.net(state))


def astray(folder: Path, fallback: str = "") -> stretto.Workflow:
    head = "contract: {reward: {outside: 1.0}}"
    steps = CHOOSES.replace("FALLBACK", fallback)
    workflow = loaded(folder, steps, head=head, output="{way: steps.chooser.way}")
    component = workflow.component("chooser")
    assert isinstance(component, TorchComponent)
    return workflow.with_component(component.with_module(Astray()))


def test_a_row_without_probabilities_fails_apart_from_the_others(tmp_path: Path) -> None:
    module = as_module(astray(tmp_path))
    asked = [*rows(2), {"x": TOO_LARGE}, *rows(1)]
    outcome = module(asked, seeds=[1, 2, 3, 4])
    gradients = outcome.backward()
    assert outcome.known.tolist() == [True, True, False, True]
    assert not gradients.skipped
    assert all(torch.isfinite(each.grad).all() for each in module.parameters() if each.grad is not None)
    assert "gives no probabilities for 'way'" in str(outcome.runs[2].error)
    assert [run.status for run in outcome.runs].count("failed") == 1
    alone = module([asked[3]], seeds=[4])
    assert alone.runs[0].output_value == outcome.runs[3].output_value


def test_a_fallback_answers_for_a_row_without_probabilities(tmp_path: Path) -> None:
    answers = "resilience: {fallback: {output: {way: b, way_probabilities: [0.0, 1.0, 0.0]}}},"
    module = as_module(astray(tmp_path, answers))
    outcome = module([*rows(1), {"x": TOO_LARGE}], seeds=[1, 2])
    assert outcome.rewards[1].item() == 3.0
    assert not outcome.backward().skipped
    assert outcome.runs[1].output_value == {"way": "b"}


def test_where_no_row_has_probabilities_every_run_says_so(tmp_path: Path) -> None:
    outcome = as_module(astray(tmp_path))([{"x": TOO_LARGE}] * 2, seeds=[1, 2])
    assert not outcome.known.any()
    assert all("gives no probabilities" in str(run.error) for run in outcome.runs)


def test_a_gradient_that_was_no_number_before_is_named_though_no_step_called_its_component(tmp_path: Path) -> None:
    guarded = STEPS.replace("{state: steps.one.state}}", "{state: steps.one.state}, condition: steps.one.score > 9.0}")
    module = module_of(tmp_path, guarded.replace("steps.two.score", "steps.one.score"), head=HEAD)
    for parameter in module.module_of("second").parameters():
        parameter.grad = torch.full_like(parameter, torch.nan)
    told = module(rows(2)).backward().skipped
    assert told.startswith("the gradient of component 'second', which no step of the batch called, is no number; so")
