"""What one module hands to another must be what the other is said to learn through."""

from pathlib import Path

import pytest
import torch

import stretto
from stretto.components.torch.component import TorchComponent
from stretto.learn import as_module
from stretto.types.enums import RunStatus
from stretto.types.errors import UsageError

COMPONENTS = """
from typing import Annotated, TypedDict

import torch
from torch import Tensor, nn

import stretto
from stretto import Shape

Number = Annotated[Tensor, Shape()]


class Counted(TypedDict):
    count: Annotated[Tensor, Shape(dtype="int64")]
    share: Number


@stretto.differentiable("counter", inputs=["x"])
class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(2, 1)

    def forward(self, x: Annotated[Tensor, Shape(2)]) -> Counted:
        share = self.net(x)[:, 0]
        return {"count": share.round().long(), "share": share}


@stretto.differentiable("worth", inputs=["share"], context=["more"], rewards=["worth"])
def worth(share: Number, more: Annotated[Tensor, Shape(absent=0.0)]) -> Number:
    return share + more


@stretto.differentiable("ranked", context=["place"], rewards=["ranked"])
def ranked(place: Annotated[Tensor, Shape(dtype="int64")]) -> Number:
    return place.float()
"""

WORKFLOW = """
stretto: 1
name: counts
components: components.py
contract: {reward: {worth: 1.0}}
steps:
  - {name: counter, component: counter, input_mapping: {x: input.x}}
"""

WORTH = "{name: worth, component: worth, input_mapping: {share: steps.counter.SHARE, more: steps.counter.MORE}}"

INSIDE = """
  - name: each
    for_each: input.all
    steps:
      - STEP
"""


def loaded(folder: Path, share: str, more: str, *, inside: bool = False) -> stretto.Workflow:
    step = WORTH.replace("SHARE", share).replace("MORE", more)
    (folder / "components.py").write_text(COMPONENTS)
    (folder / "workflow.yaml").write_text(WORKFLOW + (INSIDE.replace("STEP", step) if inside else f"  - {step}\n"))
    return stretto.load(folder / "workflow.yaml", store=folder / "runs.db")


@pytest.mark.parametrize("inside", [False, True], ids=["beside", "inside a for_each"])
def test_integers_are_refused_where_a_gradient_is_said_to_pass(tmp_path: Path, inside: bool) -> None:
    with (
        loaded(tmp_path, "count", "share", inside=inside) as workflow,
        pytest.raises(UsageError, match=r"'count' of step 'counter' goes to the input 'share' of .*integers \(int64\)"),
    ):
        as_module(workflow)


def test_integers_are_read_where_no_gradient_is_meant(tmp_path: Path) -> None:
    with loaded(tmp_path, "share", "count") as workflow:
        outcome = as_module(workflow)([{"x": [0.5, 1.0]}])
        assert outcome.backward().norms["counter"] > 0


def test_reals_are_read_as_integers_in_rows_where_they_are_some_and_fail_in_others_as_in_the_engine(
    tmp_path: Path,
) -> None:
    (tmp_path / "components.py").write_text(COMPONENTS)
    step = "  - {name: ranked, component: ranked, input_mapping: {place: steps.counter.share}}\n"
    (tmp_path / "workflow.yaml").write_text(WORKFLOW.replace("worth", "ranked") + step)
    inputs = [{"x": [2.0, 0.0]}, {"x": [0.5, 0.0]}, {"x": [float(10**6), 0.0]}]
    with stretto.load(tmp_path / "workflow.yaml", store=tmp_path / "runs.db") as workflow:
        counter = workflow.component("counter")
        assert isinstance(counter, TorchComponent)
        with torch.no_grad():
            counter.module.get_parameter("net.weight").copy_(torch.tensor([[1.0, 0.0]]))
            counter.module.get_parameter("net.bias").zero_()
        alone = [workflow.run_sync(each) for each in inputs]
        outcome = as_module(workflow)(inputs)
        assert [run.status for run in outcome.runs] == [run.status for run in alone]
    assert [run.status for run in alone] == [RunStatus.OK, RunStatus.FAILED, RunStatus.OK]
    assert outcome.known.tolist() == [True, False, True]
    assert outcome.rewards[outcome.known].tolist() == [2.0, 10.0**6]
