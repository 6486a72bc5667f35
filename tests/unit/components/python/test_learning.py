"""A class that learns on its own side, or can be differentiated, says so by its methods."""

from typing import Any, ClassVar

import pytest

import stretto
from stretto.components.python.component import ClassComponent
from stretto.components.python.decorator import component_of
from stretto.types.card import Real, Tensor, Tensors
from stretto.types.errors import ContractError, SpecError
from stretto.types.ids import RunId, StepPath
from stretto.types.messages import RunInfo
from stretto.types.protocols import Differentiates, Reflects
from stretto.types.signals import Cotangents, Signal

RUN = RunInfo(id=RunId("r"), workflow_run_id="w@1.r", workflow="w", version="1")
SIGNAL = Signal(run=RUN, path=StepPath("plan"), reward=0.5)


def made(target: Any) -> ClassComponent:
    found = component_of(stretto.component("planner")(target))
    assert isinstance(found, ClassComponent)
    return found


class Plain:
    def __call__(self, goal: str) -> dict[str, str]:
        return {"plan": goal}


class Learner(Plain):
    def __init__(self) -> None:
        self.seen: list[float | None] = []

    async def reflect(self, signal: Signal) -> bool | str:
        self.seen.append(signal.reward)
        return True if len(self.seen) > 1 else "one is not enough"


class Blocking(Plain):
    def reflect(self, signal: Signal) -> Any:
        return {"no": "bool"}

    def vjp(self, asked: Cotangents) -> bytes:
        return asked.cotangents * 2


def test_a_class_without_the_methods_is_not_taken_for_more() -> None:
    component = made(Plain)
    assert not isinstance(component, Reflects)
    assert not isinstance(component, Differentiates)


async def test_its_one_instance_is_told() -> None:
    component = made(Learner)
    assert isinstance(component, Reflects)
    assert not isinstance(component, Differentiates)
    assert await component.reflect(SIGNAL) == "one is not enough"
    assert await component.reflect(SIGNAL) is True
    await component.close()


async def test_plain_methods_run_in_a_thread() -> None:
    component = made(Blocking)
    assert isinstance(component, Differentiates)
    asked = Cotangents(run=RUN, path=StepPath("plan"), inputs=b"", cotangents=b"ab")
    assert await component.vjp(asked) == b"abab"
    await component.close()


async def test_what_is_no_answer_is_refused() -> None:
    component = made(Blocking)
    assert isinstance(component, Reflects)
    with pytest.raises(ContractError, match="`reflect` of component 'planner' returned dict; expected True, False or"):
        await component.reflect(SIGNAL)
    await component.close()


def test_a_class_of_scope_run_cannot_be_told_after_its_runs() -> None:
    with pytest.raises(SpecError, match="it is asked after the run, whose instance has gone"):
        stretto.component("planner", scope="run")(Learner)


class Sloping(Plain):
    vjp_inputs: ClassVar = {"at": stretto.Shape(3), "by": stretto.Shape(dtype="float64")}
    vjp_outputs: ClassVar = {"height": stretto.Shape()}

    def vjp(self, asked: Cotangents) -> bytes:
        return asked.cotangents


def test_a_class_that_differentiates_tells_its_tensors_in_its_card() -> None:
    assert made(Sloping).card.tensors == Tensors(
        inputs=(Tensor(name="at", shape=(3,)), Tensor(name="by", dtype=Real.F64)), outputs=(Tensor(name="height"),)
    )
    assert made(Blocking).card.tensors is None


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"vjp_inputs": {"at": stretto.Shape(3)}}, "has `vjp_inputs` and no `vjp_outputs`"),
        ({"vjp_outputs": {"at": stretto.Shape(3)}}, "has `vjp_outputs` and no `vjp_inputs`"),
        ({"vjp_inputs": {"at": 3}, "vjp_outputs": {"h": stretto.Shape()}}, "`vjp_inputs` of 'Told' says of 'at' 3"),
        ({"vjp_inputs": {}, "vjp_outputs": {"h": stretto.Shape()}}, "`vjp_inputs` of 'Told' is {}"),
        (
            {"vjp_inputs": {"at": stretto.Shape(dtype="int64")}, "vjp_outputs": {"h": stretto.Shape()}},
            "says of 'at' Shape\\(dtype='int64'\\)",
        ),
    ],
)
def test_what_has_no_gradient_is_refused(fields: dict[str, Any], said: str) -> None:
    told = made(type("Told", (Blocking,), fields))
    with pytest.raises(SpecError, match=said):
        told.card  # noqa: B018


def test_tensors_without_vjp_are_refused() -> None:
    fields = {"vjp_inputs": {"at": stretto.Shape(3)}, "vjp_outputs": {"h": stretto.Shape()}}
    with pytest.raises(SpecError, match="'Told' has `vjp_inputs` and no `vjp`"):
        made(type("Told", (Plain,), fields)).card  # noqa: B018
