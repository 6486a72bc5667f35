"""The module of a workflow: what it copies, what it refuses, what it hands back."""

import asyncio
from pathlib import Path

import pytest
import torch

import stretto
from stretto.components.torch.component import TorchComponent
from stretto.learn import as_module
from stretto.types.errors import ContractError, InputError, UsageError
from stretto.types.ids import Digest
from tests.unit.learn.differentiable.made import grads_of, hand, loaded, module_of, rows, same, xs

STEPS = """
  - {name: one, component: first, input_mapping: {x: input.x}}
  - {name: two, component: second, input_mapping: {state: steps.one.state}}
  - {name: worth, component: worth, input_mapping: {score: steps.two.score}}
"""
HEAD = "contract: {input: {x: 'array[float]', n: int}, reward: {worth: 1.0}}"


def test_what_learns_is_a_copy_and_the_workflow_of_it_is_pinned_to_other_weights(tmp_path: Path) -> None:
    workflow = loaded(tmp_path, STEPS, head=HEAD, output="{score: steps.two.score}")
    module, inputs = as_module(workflow), rows(4)
    before = workflow.run_sync(inputs[0])
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    outcome = module(inputs)
    first_loss = outcome.loss.item()
    assert outcome.runs[0].manifest == before.manifest
    for _ in range(5):
        optimizer.zero_grad()
        outcome = module(inputs)
        outcome.backward()
        optimizer.step()
    assert module(inputs).loss.item() < first_loss
    assert workflow.run_sync(inputs[0]).output_value == before.output_value
    trained, last = module.trained(), module(inputs)
    after = trained.run_sync(inputs[0])
    assert after.output_value["score"] == pytest.approx(last.outputs["score"][0].item(), abs=1e-12)
    assert after.manifest == last.runs[0].manifest != before.manifest
    with pytest.raises(UsageError, match="weights have changed"):
        outcome.runs  # noqa: B018  # they are made when they are asked for
    workflow.close()
    trained.close()


def test_a_backward_pass_tells_the_norm_of_each_component_and_drops_what_is_no_number(tmp_path: Path) -> None:
    module, inputs = module_of(tmp_path, STEPS, head=HEAD), rows(4)
    told = module(inputs).backward()
    assert set(told.norms) == {"first", "second", "worth"}
    assert told.norms["first"] > 0
    assert (told.norms["worth"], told.skipped, module.skipped_updates) == (0.0, "", 0)
    with torch.no_grad():
        hand(module, "second").net.weight.fill_(torch.nan)
    outcome = module(inputs)
    told = outcome.backward()
    assert "component 'second' at step 'two'" in told.skipped
    assert [(run.status.value, run.error.path if run.error else "") for run in outcome.runs] == [("failed", "two")] * 4
    assert "nan is not JSON" in str(outcome.runs[0].error)
    assert all(parameter.grad is None for parameter in module.parameters())
    assert module.skipped_updates == 1


def test_a_batch_is_checked_once_and_its_parts_share_what_was_made_of_it(tmp_path: Path) -> None:
    module, inputs = module_of(tmp_path, STEPS, head=HEAD), rows(9)
    whole = module.batch(inputs)
    part = whole.part([5, 1, 7]).part([2, 0])
    assert torch.equal(module(part).rewards, module([inputs[7], inputs[5]]).rewards)
    (tmp_path / "other").mkdir()
    other = module_of(tmp_path / "other", STEPS)
    with pytest.raises(UsageError, match="was checked for workflow 'made' with other components"):
        other(whole)
    with pytest.raises(InputError, match="/n"):
        module.batch([{"x": [1.0, 2.0], "n": "one"}])


def test_a_batch_is_run_inside_a_running_event_loop_too(tmp_path: Path) -> None:
    steps = "  - {name: out, component: same, input_mapping: {value: input.x}}\n" + STEPS
    module, inputs = module_of(tmp_path, steps, head=HEAD, output="{v: steps.out.value}"), rows(3)

    async def inside() -> object:
        return module(inputs).outputs["v"]

    assert asyncio.run(inside()) == [each["x"] for each in inputs]
    module.close()


def test_modules_of_a_workflow_and_its_own_runs_share_what_is_open(tmp_path: Path) -> None:
    steps = "  - {name: out, component: holding}\n" + STEPS
    workflow = loaded(tmp_path, steps, head=HEAD, output="{times: steps.out.times}")
    one, other, (asked,) = as_module(workflow), as_module(workflow), rows(1)
    times = [
        one([asked]).outputs["times"],
        other([asked]).outputs["times"],
        [workflow.run_sync(asked).output_value["times"]],
    ]
    assert times == [[1], [2], [3]]
    one.close()
    other.close()
    workflow.close()


def test_what_is_frozen_is_not_copied_and_two_steps_may_share_weights(tmp_path: Path) -> None:
    steps = STEPS + "  - {name: again, component: first, input_mapping: {x: input.x}}\n"
    workflow = loaded(tmp_path, steps, head=HEAD)
    frozen = workflow.component("first").module.net.bias.requires_grad_(False)  # type: ignore[attr-defined]  # torch's
    module = as_module(workflow)
    assert hand(module, "first").net.bias is frozen
    assert sorted(name for name, p in module.named_parameters() if p.requires_grad) == [
        "first.net.weight",
        "second.net.bias",
        "second.net.weight",
    ]


def test_only_the_components_that_are_named_learn(tmp_path: Path) -> None:
    module = as_module(loaded(tmp_path, STEPS, head=HEAD), train=["second"])
    told = module(rows(3)).backward()
    assert (told.norms["first"], told.unreached) == (0.0, ())
    assert told.norms["second"] > 0
    assert hand(module, "first").net.weight.grad is None
    with pytest.raises(UsageError, match="no differentiable component 'third'; it has: first, second, worth"):
        as_module(module.workflow, train=["third"])
    with pytest.raises(UsageError, match="component 'worth' is frozen"):
        as_module(module.workflow, train=["worth"])


def test_a_component_that_no_reward_reaches_is_told(tmp_path: Path) -> None:
    steps = """
  - {name: one, component: first, input_mapping: {x: input.x}}
  - {name: out, component: same, input_mapping: {value: steps.one}}
  - {name: two, component: second, input_mapping: {state: steps.out.value.state}}
  - {name: worth, component: worth, input_mapping: {score: steps.two.score}}
"""
    module = module_of(tmp_path, steps, head=HEAD)
    assert module(rows(3)).backward().unreached == ("first",)
    module.close()


def test_components_that_share_weights_are_told_and_learn_together(tmp_path: Path) -> None:
    workflow = loaded(tmp_path, STEPS, head=HEAD)
    first, second = workflow.component("first"), workflow.component("second")
    second.module.net = first.module.net  # type: ignore[attr-defined]  # torch's
    module = as_module(workflow)
    assert module.shared == (("first", "second"),)
    assert len([*module.parameters()]) == 2
    inputs = rows(4)
    by_hand = hand(module, "second")(hand(module, "first")(xs(inputs))["state"])["score"]
    assert same(grads_of(module, module(inputs).loss), grads_of(module, -by_hand.mean()))


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("no request", lambda module, inputs: module([])),
        ("run under torch.no_grad", lambda module, inputs: torch.no_grad()(module)(inputs).backward()),
        ("given one int; put it in a list", lambda module, inputs: module.batch(5)),
        ("given one RunRequest; put it in a list", lambda module, inputs: module(stretto.RunRequest(input=inputs[0]))),
        ("has no module of 'frist'; it has those of: first,", lambda module, inputs: module.module_of("frist")),
        ("2 seeds are given for 3 requests", lambda module, inputs: module(inputs, seeds=[1, 2])),
        ("a seed is 9223372036854775808; expected", lambda module, inputs: module(inputs, seeds=[1, 2, 2**63])),
        ("a seed is no integer: 'float' object", lambda module, inputs: module(inputs, seeds=[1, 2.5, 3])),
        ("eval mode", lambda module, inputs: module.eval()(inputs).backward()),
        ("reaches none", lambda module, inputs: module.requires_grad_(False)(inputs).backward()),
    ],
)
def test_what_cannot_be_asked_of_a_module_is_refused(tmp_path: Path, text: str, change: object) -> None:
    module, inputs = module_of(tmp_path, STEPS, head=HEAD), rows(3)
    with pytest.raises(UsageError, match=text):
        change(module, inputs)  # type: ignore[operator]  # a function of these two


def test_a_workflow_that_only_the_engine_can_run_is_refused_with_every_reason(tmp_path: Path) -> None:
    head = HEAD + "\nfallback: {component: same, input_mapping: {value: input.x}, output: {done: {value: true}}}"
    with pytest.raises(UsageError, match="`fallback` of the workflow"):
        module_of(tmp_path, STEPS, head=head)
    with pytest.raises(UsageError, match="has no differentiable component"):
        module_of(tmp_path, "  - {name: out, component: same, input_mapping: {value: input.x}}")


def test_tensors_that_do_not_fit_between_steps_are_told_with_both_shapes(tmp_path: Path) -> None:
    steps = """
  - {name: each, for_each: "input.all", component: first, input_mapping: {x: item}}
  - {name: pool, component: pool, input_mapping: {states: "steps.each.items.map(i, i.state)"}}
"""
    module = module_of(tmp_path, steps)
    with pytest.raises(ContractError, match=r"'states' of component 'pool' at step 'pool'.*\[3, 2\].*\[2, 2\]"):
        module([{"all": [[1.0, 2.0], [3.0, 4.0]]}])


def test_an_input_that_is_no_tensor_fails_its_run_alone(tmp_path: Path) -> None:
    module = module_of(tmp_path, STEPS, head="contract: {reward: {worth: 1.0}}")
    outcome = module([{"x": [1.0, 2.0]}, {"x": [1.0]}, {"x": "no"}, {"x": [0.5, 0.5]}])
    assert outcome.known.tolist() == [True, False, False, True]
    assert [run.status.value for run in outcome.runs] == ["ok", "failed", "failed", "ok"]
    assert "/x" in str(outcome.runs[1].error)
    module.close()


def test_a_batch_of_many_runs_is_recorded_as_they_are_one_by_one(tmp_path: Path) -> None:
    steps = "  - {name: choose, component: chooser, input_mapping: {state: input.x}}\n" + STEPS
    workflow = loaded(tmp_path, steps, head=HEAD, output="{way: steps.choose.way}")
    module, inputs = as_module(workflow), rows(12)
    batched = module([stretto.RunRequest(input=each, seed=row) for row, each in enumerate(inputs)]).runs
    for row, run in enumerate(batched):
        alone = workflow.run_sync(inputs[row], seed=row)
        assert (run.status, run.output_value, run.seed) == (alone.status, alone.output_value, row)
        assert run.reward == pytest.approx(alone.reward, abs=1e-12)
        assert {str(step.path) for step in run.steps} == {str(step.path) for step in alone.steps}
        assert [(step.started_ms >= 0, step.ended_ms >= step.started_ms) for step in run.steps] == [(True, True)] * 4
    assert len({run.output_value["way"] for run in batched}) > 1
    workflow.close()


def test_what_runs_are_pinned_to_is_found_once_for_all_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module, asked = module_of(tmp_path, STEPS, head=HEAD), []
    with_weights = TorchComponent.digest_with

    def counted(component: TorchComponent, weights: Digest) -> Digest:
        asked.append(component.card.name)
        return with_weights(component, weights)

    monkeypatch.setattr(TorchComponent, "digest_with", counted)
    assert len(module(rows(8)).runs) == 8
    assert sorted(asked) == ["first", "second", "worth"]  # each reads its source: 15 ms
