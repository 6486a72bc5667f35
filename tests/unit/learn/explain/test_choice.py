"""What made a module choose: a planted cause, against what is usual."""

import math
from typing import Annotated, Any, cast

import pytest
import torch
from torch import Tensor, nn

import stretto
from stretto import OneOf, Shape
from stretto.components.python.decorator import component_of
from stretto.components.torch.component import TorchComponent
from stretto.learn.explain.choice import explain_choice
from stretto.testing.request import request_for
from stretto.types.errors import UsageError
from stretto.types.json import JsonObject
from stretto.types.learning import Action


@stretto.differentiable("planted", inputs=["months", "colour"], context=["tenant"], chooses={"route": ("a", "b", "c")})
class Planted(nn.Module):
    """Chooses ``b`` for a high third month, whatever else it reads."""

    def __init__(self) -> None:
        super().__init__()
        self.rest = nn.Linear(8, 3)

    def forward(
        self, months: Annotated[Tensor, Shape(3, 2)], colour: Annotated[Tensor, OneOf("red", "blue")], tenant: list[str]
    ) -> Tensor:
        seen = torch.cat([months.flatten(1), colour], 1)
        cause = torch.tanh(months[:, 2, 0])
        logits: Tensor = 0.1 * self.rest(seen) + torch.stack([-cause, 4 * cause, -cause], 1)
        return logits + torch.tensor([[len(name) / 10, 0.0, 0.0] for name in tenant])


REQUEST: JsonObject = {"months": [[0, 1], [1, 0], [2, 1]], "colour": "red", "tenant": "shop"}

OTHERS: list[JsonObject] = [
    {**REQUEST, "months": [[0, 1], [1, 0], [low, 1]], "colour": colour} for low, colour in ((-1, "blue"), (0, "red"))
]


def planted() -> TorchComponent:
    return cast("TorchComponent", component_of(Planted))


def chosen(request: Any) -> Action:
    return planted()._answer(request_for(_seed=3, **request)).actions[0]


def test_the_cause_comes_first_and_the_parts_add_up() -> None:
    action = chosen(REQUEST)
    assert action.chosen == "b"
    told = explain_choice(planted(), REQUEST, action, others=OTHERS)
    assert told.parts[0].name == "months[2][0]"
    assert (told.parts[0].value, told.parts[0].baseline) == (2.0, -0.5)
    assert told.parts[0].adds > 0
    assert told.parts[0].loses == pytest.approx(told.parts[0].adds, rel=0.2)
    assert sum(part.adds for part in told.parts) == pytest.approx(told.score - told.baseline, rel=1e-3)
    assert told.residual < 0.01
    assert told.faith.beaten > 0.9
    assert next(iter(told.fields)) == "months"
    assert told.logprob == action.logprob


def test_what_other_runs_saw_too_adds_nothing() -> None:
    told = explain_choice(planted(), REQUEST, chosen(REQUEST), others=OTHERS)
    by_name = {part.name: part for part in told.parts}
    assert by_name["months[0][1]"].adds == 0.0
    assert by_name["colour[0]"].baseline == 0.5


def test_without_other_runs_the_baseline_is_nothing() -> None:
    told = explain_choice(planted(), REQUEST, chosen(REQUEST))
    assert {part.baseline for part in told.parts} == {0.0}


def test_an_alternative_that_was_not_available_counts_for_nothing() -> None:
    action = Action(
        name="route", chosen="b", support=("a", "b", "c"), available=(True, True, False), logprob=math.log(0.9),
        propensity=0.9, policy="p",
    )  # fmt: skip
    told = explain_choice(planted(), REQUEST, action)
    with torch.no_grad():
        found = planted().compute(
            planted().module,
            {
                "months": torch.tensor([REQUEST["months"]]).float(),
                "colour": torch.tensor([[1.0, 0.0]]),
                "tenant": ["shop"],
            },
            1,
        )["route"][0]
    assert told.score == pytest.approx(float(found[1] - found[:2].mean()))


def test_a_choice_of_another_name_is_refused() -> None:
    action = Action(name="tool", chosen="b", support=("a", "b"), logprob=0.0, propensity=1.0, policy="p")
    with pytest.raises(UsageError, match="'planted' has no choice 'tool'"):
        explain_choice(planted(), REQUEST, action)
