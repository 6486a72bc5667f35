"""What goes wrong in a joint training, and what becomes of it."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch

from stretto.learn.differentiable.module import DifferentiableWorkflow
from stretto.learn.joint import ComponentOptions, JointOptions
from stretto.learn.joint.held_out import HeldOut
from stretto.learn.joint.report import Reach
from stretto.learn.joint.requests import rows_and_seeds
from stretto.learn.tasks import Task
from stretto.types.errors import LearningError, UsageError
from tests.unit.learn.joint.made import COMPONENTS, SMALL, UNEVALUATED, tasks, trained, workflow


def test_a_reward_that_is_unknown_everywhere_ends_the_training(tmp_path: Path) -> None:
    workflow(tmp_path)
    unknown = [msgspec.structs.replace(task, reference=None) for task in tasks()]
    with pytest.raises(LearningError, match="the reward of all 9 held-out runs is unknown"):
        trained(tmp_path, unknown)
    with pytest.raises(LearningError, match=r"4 updates in a row .* the reward of all 8 runs of the batch is unknown"):
        trained(tmp_path, unknown, place="other", **UNEVALUATED)


BREAKING = COMPONENTS.replace(
    'return {"state": torch.tanh(self.net(x))}',
    """state = torch.tanh(self.net(x))
        if (x[:, 0] > 9).any() and state.requires_grad:
            state.register_hook(lambda gradient: gradient * torch.nan)
        return {"state": state}""",
)
"""A reader whose gradient is no number where a point lies far out."""


def with_outliers(*places: int) -> list[Task]:
    far = {"x": [10.0, 0.0, 0.0]}
    return [msgspec.structs.replace(task, input=far) if n in places else task for n, task in enumerate(tasks())]


def test_a_gradient_that_is_no_number_skips_the_update_and_says_where(tmp_path: Path) -> None:
    workflow(tmp_path, components=BREAKING)
    (place, *_), _ = rows_and_seeds(40, JointOptions(**SMALL), 2)
    given = with_outliers(place)  # in the second update, and in no other of these five
    (skipped,) = (report for report in trained(tmp_path, given, updates=5, **UNEVALUATED).reports if report.skipped)
    assert "the gradient of component 'reader' at step 'reader' is no number" in skipped.skipped
    assert skipped.update == 2
    assert {each.reach for each in skipped.gradients.values()} == {Reach.SKIPPED}
    assert skipped.reward_mean is not None
    before = trained(tmp_path, given, place="before", updates=skipped.update - 1, **UNEVALUATED)
    after = trained(tmp_path, given, place="after", updates=skipped.update, **UNEVALUATED)
    assert before.best.weights["router"] == after.best.weights["router"]


def test_a_fourth_update_in_a_row_that_cannot_be_made_ends_the_training_and_it_can_be_gone_on_with(
    tmp_path: Path,
) -> None:
    workflow(tmp_path, components=BREAKING)
    told = r"4 updates in a row could not be made, the last because the gradient of component 'reader' at step 'reader'"
    for resume in (False, True):
        with pytest.raises(LearningError, match=told):
            trained(tmp_path, with_outliers(*range(40)), **UNEVALUATED, resume=resume)


def test_a_run_of_unknown_reward_has_no_part_and_is_counted_with_its_term(tmp_path: Path) -> None:
    workflow(tmp_path)
    some = [msgspec.structs.replace(task, reference=None) if place % 2 else task for place, task in enumerate(tasks())]
    first, second = trained(tmp_path, some, updates=1).reports
    assert first.held_out is not None
    assert first.held_out.left_out == {"unknown right": first.held_out.unknown}
    assert 0 < second.unknown < 8
    assert second.left_out == {"unknown right": second.unknown}
    kept = trained(tmp_path, some, updates=1, place="other", keep="held-out").reports
    assert (kept[1].unknown, kept[1].left_out) == (second.unknown, {})


UNWIRED = (
    COMPONENTS
    + """

@stretto.differentiable("aside", inputs=["x"], inline=True)
class Aside(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(3, 4)

    def forward(self, x: Annotated[Tensor, Shape(3)]) -> Read:
        return {"state": self.net(x)}
"""
)


def test_what_no_reward_reaches_is_told_in_each_update(tmp_path: Path) -> None:
    workflow(tmp_path, components=UNWIRED)
    file = tmp_path / "workflow.yaml"
    aside = '  - { name: aside, component: aside, input_mapping: { x: "input.x" } }\n'
    file.write_text(file.read_text().replace("  - { name: router", aside + "  - { name: router"))
    reports = trained(tmp_path, updates=2).reports
    assert [report.gradients["aside"].reach for report in reports[1:]] == [Reach.UNREACHED] * 2


def test_after_an_evaluation_everything_that_learns_is_in_training_mode_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what is frozen is not, so that nothing of it moves."""
    workflow(tmp_path)
    modes: list[tuple[bool, ...]] = []
    run = DifferentiableWorkflow.forward

    def watched(self: DifferentiableWorkflow, *given: Any, **options: Any) -> Any:
        modes.append(tuple(self.get_submodule(name).training for name in ("reader", "router")))
        return run(self, *given, **options)

    monkeypatch.setattr(DifferentiableWorkflow, "forward", watched)
    trained(tmp_path, updates=2, evaluate_every=1, components={"reader": ComponentOptions(frozen=True)})
    assert modes == [*[(False, False)] * 2, (False, True), *[(False, False)] * 2, (False, True), *[(False, False)] * 2]


def test_a_module_that_is_left_in_eval_mode_learns_nothing_and_that_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow(tmp_path)
    measure = HeldOut.measure

    def left(self: HeldOut, update: int) -> Any:
        found = measure(self, update)
        self._module.eval()
        return found

    monkeypatch.setattr(HeldOut, "measure", left)
    with pytest.raises(UsageError, match="the module is in eval mode, in which nothing is learnt"):
        trained(tmp_path)


def test_a_module_whose_own_parameters_are_frozen_cannot_be_given_options(tmp_path: Path) -> None:
    frozen = COMPONENTS.replace("self.net = nn.Linear(4, 2)", "self.net = nn.Linear(4, 2).requires_grad_(False)")
    workflow(tmp_path, components=frozen)
    for own in (ComponentOptions(learning_rate=0.1), ComponentOptions(frozen=False)):
        with pytest.raises(UsageError, match="component 'router' is frozen: none of its parameters takes a gradient"):
            trained(tmp_path, components={"router": own})
    result = trained(tmp_path)
    assert set(result.checkpoints) == {"reader"}
    assert result.reports[1].gradients["router"].reach is Reach.FROZEN


SHARED = (
    COMPONENTS
    + """

body = nn.Linear(3, 4)


class Body(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = body

    def forward(self, x: Annotated[Tensor, Shape(3)]) -> Read:
        return {"state": torch.tanh(self.body(x))}


first = stretto.differentiable("first", inputs=["x"], inline=True)(Body())
second = stretto.differentiable("second", inputs=["x"], inline=True)(Body())
"""
)


def test_weights_that_two_components_share_are_stepped_once_and_by_one_rule(tmp_path: Path) -> None:
    torch.manual_seed(0)
    workflow(tmp_path, components=SHARED)
    file = tmp_path / "workflow.yaml"
    steps = '  - { name: first, component: first, input_mapping: { x: "input.x" } }\n'
    steps += '  - { name: second, component: second, input_mapping: { x: "input.x" } }\n'
    text = file.read_text().replace("  - { name: reader", f"{steps}  - {{ name: reader")
    file.write_text(text.replace("steps.reader.state", "steps.first.state"))
    with pytest.raises(UsageError, match="components 'first' and 'second' share weights, and are to learn otherwise"):
        trained(tmp_path, components={"second": ComponentOptions(learning_rate=0.1)})
    result = trained(tmp_path, updates=2)
    assert "first" in result.reports[1].gradients
    assert "second" not in result.reports[1].gradients  # its weights are the first's, and are told there
    assert result.best.weights["first"] == result.best.weights["second"]
