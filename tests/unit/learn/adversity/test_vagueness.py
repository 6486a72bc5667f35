"""Runs of all sides folded into vagueness and forgiveness: what 0 and 1 mean, what fails, what is not defined."""

import re
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, strategies as st

from stretto.learn.adversity.vagueness import Sides, Vagueness, vagueness_of
from stretto.learn.usable import Recorded
from stretto.types.enums import RunStatus
from stretto.types.errors import LearningError
from tests.unit.learn.worlds import run_of

Rewards = Sequence[float | None]

OWN: Rewards = [1.0, 0.8, 1.0, 0.6, 1.0, 0.9]
ANSWERS: Rewards = [0.0, 0.2, 0.0, 0.1, 0.3, 0.0]


def recorded(rewards: Rewards, seed: int = 0) -> list[Recorded]:
    found = []
    for task, reward in enumerate(rewards):
        status = RunStatus.OK if reward is not None else RunStatus.FAILED
        labels = {"task": str(task)}
        found.append(Recorded(run=run_of(f"{task}-{seed}", [], reward, labels=labels, seed=seed, status=status)))
    return found


def told(
    strict: Rewards | Mapping[str, Rewards], own: Rewards = OWN, answers: Rewards = ANSWERS, messages: Rewards = OWN
) -> Vagueness:
    each = strict if isinstance(strict, Mapping) else {"other": strict}
    sides = Sides(
        own=recorded(own),
        answers=recorded(answers),
        messages=recorded(messages),
        strict={name: recorded(rewards) for name, rewards in each.items()},
    )
    return vagueness_of(sides)


def figures(found: Vagueness) -> tuple[float, float]:
    assert found.vagueness is not None
    assert found.forgiveness is not None
    return found.vagueness.value, found.forgiveness.value


def test_nothing_is_vague_where_others_do_as_well_and_all_is_where_they_do_as_answers_to_other_tasks() -> None:
    assert figures(told(OWN)) == (0.0, 1.0)
    assert figures(told(ANSWERS, messages=ANSWERS)) == (1.0, 0.0)


def test_both_are_shares_of_the_success_over_all_tasks_paired() -> None:
    half = [(one + other) / 2 for one, other in zip(OWN, ANSWERS, strict=True) if one is not None and other is not None]
    found = told(half, messages=half)
    assert figures(found) == pytest.approx((0.5, 0.5))
    assert found.vagueness is not None
    assert found.vagueness.low == pytest.approx(0.5)  # it is half in each task, so it is in whatever is drawn
    assert found.vagueness.high == pytest.approx(0.5)
    assert found.own.value == pytest.approx(5.3 / 6)
    assert found.strict["other"].value == pytest.approx(5.9 / 12)


def test_of_several_executors_the_mean_counts() -> None:
    assert figures(told({"one": OWN, "two": ANSWERS}))[0] == pytest.approx(0.5)


@given(st.lists(st.floats(-2.0, 3.0), min_size=6, max_size=6), st.lists(st.floats(-2.0, 3.0), min_size=6, max_size=6))
def test_both_are_held_to_what_a_share_can_be(strict: list[float], messages: list[float]) -> None:
    found = told(strict, messages=messages)
    for figure in (found.vagueness, found.forgiveness):
        assert figure is not None
        assert 0.0 <= figure.low <= figure.high <= 1.0
        assert 0.0 <= figure.value <= 1.0


def test_a_run_that_another_executor_cannot_finish_counts_as_an_answer_to_another_task() -> None:
    found = told([None, *OWN[1:]], messages=[None, None, *OWN[2:]])
    lost = 1.0 / (5.3 - 0.6)
    assert figures(found) == pytest.approx((lost, 1 - (1.0 + 0.6) / 4.7))
    assert found.failed == {"other": 1, "messages": 2}
    assert told(OWN).failed == {}


def test_a_task_without_an_own_reward_is_left_out_of_all_sides() -> None:
    found = told([0.5, *OWN[1:]], own=[None, *OWN[1:]])
    assert figures(found)[0] == 0.0
    assert {found.own.runs, found.answers.runs, found.strict["other"].runs} == {5}


@pytest.mark.parametrize("own", [ANSWERS, [0.0] * 6, [0.3, 0.0, 0.0, 0.1, 0.3, 0.0]])
def test_without_success_neither_is_defined_and_the_rewards_are_told_all_the_same(own: Rewards) -> None:
    found = told(OWN, own=own)
    assert (found.vagueness, found.forgiveness) == (None, None)
    assert "there is no success that could depend on anything" in found.undefined
    assert found.strict["other"].value == pytest.approx(5.3 / 6)


def test_what_cannot_be_folded_is_refused() -> None:
    with pytest.raises(LearningError, match=re.escape("give one or more")):
        told({})
    with pytest.raises(LearningError, match=r"none of 6 runs has a reward that is known both .*\(6\) .*\(0\)"):
        told(OWN, answers=[None] * 6)


def test_folding_is_repeatable() -> None:
    assert told([0.4, 0.2, 0.9, 0.1, 0.5, 0.4]) == told([0.4, 0.2, 0.9, 0.1, 0.5, 0.4])
