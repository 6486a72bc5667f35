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
from stretto.learn.explain.embedded import spelt
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


WORDS = ("where", "is", "my", "parcel", "refund", "me", "please", "now", "the", "order")


@stretto.differentiable("reader", context=["query"], chooses={"route": ("track", "pay_back")})
class Reader(nn.Module):
    """Reads words by their order too; `refund` decides."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(len(WORDS), 8)
        self.places = nn.Embedding(16, 8)
        self.mix = nn.GRU(8, 8, batch_first=True)
        self.route = nn.Linear(8, 2)
        with torch.no_grad():
            self.words.weight[WORDS.index("refund")] *= 6

    def forward(self, query: list[str]) -> Tensor:
        ids = torch.tensor([[WORDS.index(word) for word in text.split()] for text in query])
        seen = self.words(ids) + 0.01 * self.places(torch.arange(ids.shape[1]))
        logits: Tensor = self.route(self.mix(seen)[0].mean(1))
        return logits

    def spell(self, ids: list[int]) -> list[str]:
        return [WORDS[each] for each in ids]


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


def test_the_word_that_decides_is_found_in_a_text() -> None:
    reader = cast("TorchComponent", component_of(Reader))
    request: JsonObject = {"query": "please refund me the order now"}
    action = reader._answer(request_for(_seed=1, query="please refund me the order now")).actions[0]
    told = explain_choice(reader, request, action)
    assert (told.parts[0].name, told.parts[0].text, told.parts[0].place) == ("words[1]", "refund", 1)
    assert told.residual < 0.01
    assert [part.text for part in sorted(told.parts, key=lambda part: part.place or 0)] == str(request["query"]).split()
    assert list(told.fields) == ["words"]  # places were asked of no row of tokens
    assert not any(layer._forward_hooks for layer in reader.module.modules())


def test_tokens_that_nobody_spells_are_numbers() -> None:
    assert spelt(nn.Linear(1, 1), [3, 5]) == ["3", "5"]
