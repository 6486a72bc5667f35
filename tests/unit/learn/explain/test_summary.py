"""The sentences say what the figures do."""

from collections.abc import Mapping, Sequence

import pytest
from msgspec.structs import replace

from stretto.learn.explain.explained import ChoiceExplained, FieldEffect, Logit, Part, RunExplained, StepExplained
from stretto.learn.explain.page import page
from stretto.learn.explain.summary import summary_of
from stretto.learn.faith import Faithfulness


def effect(field: str, *rewards: float) -> FieldEffect:
    return FieldEffect(field=field, value=1, rewards=rewards, failed=0, effect=1.0 - sum(rewards) / len(rewards))


def told(*steps: StepExplained, reward: float | None = 1.0) -> RunExplained:
    return RunExplained(
        run="r", workflow="w", status="ok", reward=reward, again=reward, compared=2, summary=(), steps=steps
    )


def of_effects(*effects: FieldEffect) -> RunExplained:
    return told(StepExplained(path="offer", component="offer", effects=effects))


@pytest.mark.parametrize(
    ("effects", "says"),
    [
        # either field is enough by itself
        (
            (effect("", 0.0), effect("a", 1.0), effect("b", 1.0)),
            "All of offer's answer gained it 1: with 1 other answer of other runs in its place",
        ),
        (
            (effect("", 0.0), effect("a", 0.5, 0.0)),
            "offer.a = 1 gained it 0.75: with 2 other values of other runs in its place",
        ),
        (
            (effect("a", 0.0, 2.0),),
            "No other answer that was tried moved its reward on average: in 2 replays it was 0 to 2.",
        ),
        (
            (effect("a", 1.0, 1.0),),
            "No other answer that was tried moved its reward: it was the same in all of 2 replays.",
        ),
    ],
)
def test_what_moved_the_reward_is_said_as_it_was(effects: Sequence[FieldEffect], says: str) -> None:
    assert summary_of(of_effects(*effects))[1].startswith(says)


def of_choice(fields: Mapping[str, float], *, score: float) -> RunExplained:
    faith = Faithfulness(deletion=0.0, insertion=0.0, random=0.0, beaten=0.0)
    choice = ChoiceExplained(
        choice="way", chosen="left", logprob=-0.1, score=score, baseline=2.0, residual=0.0, faith=faith,
        fields=fields, parts=(Part(name="x"),), compared=2,
    )  # fmt: skip
    return told(StepExplained(path="router", component="router", choices=(choice,)))


def test_a_choice_of_which_nothing_was_special_names_no_input() -> None:
    said = summary_of(of_choice({"x": 0.0}, score=2.0))[-1]
    assert "only +0.000 of its logit's +2.000 come of this run, by none of its inputs" in said


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"x": 3.0, "y": 1.0}, "most of all because of x (+3.000), y (+1.000);"),
        ({"x": -3.0, "y": 1.0}, "most of all because of y (+1.000), and in spite of x (-3.000);"),
        ({"x": -3.0}, "(probability 0.905) in spite of x (-3.000);"),
    ],
)
def test_a_choice_is_not_made_because_of_what_spoke_against_it(fields: Mapping[str, float], says: str) -> None:
    assert says in summary_of(of_choice(fields, score=2.0 + sum(fields.values())))[-1]


def test_where_there_is_no_reward_none_was_moved_by_nothing() -> None:
    step = StepExplained(path="offer", component="offer", effects=(effect("a", 1.0),))
    assert "Without an effect" in page(told(step))
    assert "Without an effect" not in page(told(replace(step, effects=()), reward=None))


def test_a_choice_that_chance_made_is_not_told_as_the_likeliest() -> None:
    faith = Faithfulness(deletion=0.0, insertion=1.0, random=0.5, beaten=1.0)
    choice = ChoiceExplained(
        choice="way", chosen="left", logprob=-1.0, score=0.5, baseline=0.0, residual=0.0, faith=faith,
        fields={"x": 0.5}, parts=(Part(name="x", adds=0.5),),
        logits=(Logit(alternative="left", value=0.5), Logit(alternative="right", value=0.7)),
    )  # fmt: skip
    step = StepExplained(path="router", component="router", choices=(choice,))
    assert "router chose left (probability 0.368, drawn though right was likelier) most" in summary_of(told(step))[-1]
    likeliest = replace(choice, logits=choice.logits[:1])
    assert "likelier" not in summary_of(told(replace(step, choices=(likeliest,))))[-1]
