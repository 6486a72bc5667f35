"""A run's reward as of a time."""

from typing import Any

import pytest

from stretto.learn.rewards import reward_as_of
from stretto.record.model import Annotation, Run
from stretto.types.errors import LearningError
from stretto.types.ids import RunId, StepPath
from stretto.types.learning import Reward
from tests.unit.learn.worlds import run_of

RUN = run_of(
    "r", [], 0.5, rewards=(Reward(name="api", value=1.0, weight=0.5), Reward(name="mood", value=None, weight=2.0))
)


def note(name: str, value: Any, at_ns: int = 10, **more: Any) -> Annotation:
    return Annotation(**{"run_id": RunId("r"), "name": name, "value": value, "at_ns": at_ns, **more})


@pytest.mark.parametrize(
    ("annotations", "as_of_ns", "expected"),
    [
        ([], None, 0.5),
        ([note("reward", 2)], None, 2.0),
        ([note("reward", 2), note("reward", 3, 20)], None, 3.0),
        ([note("reward", 3, 20), note("reward", 2)], None, 3.0),
        ([note("reward", 2), note("reward", 3, 20)], 19, 2.0),
        ([note("reward", 2)], 9, 0.5),
        ([note("reward", None)], None, None),
        ([note("reward.mood", 0.25)], None, 1.0),
        ([note("reward.mood", None)], None, None),
        ([note("reward.mood", 0.25), note("reward.csat", 4)], None, 5.0),
        ([note("reward.mood", 0.25), note("reward", -1)], None, -1.0),
        ([note("rewarding", 9), note("label", "good")], None, 0.5),
        ([note("reward", 9, run_id=RunId("other"))], None, 0.5),
        ([note("reward", 9, path=StepPath("planner"))], None, 0.5),
    ],
)
def test_the_latest_annotation_known_then_counts(
    annotations: list[Annotation], as_of_ns: int | None, expected: float | None
) -> None:
    assert reward_as_of(RUN, annotations, as_of_ns) == expected


@pytest.mark.parametrize("value", ["good", True, [1]])
def test_a_value_that_is_no_number_is_refused(value: Any) -> None:
    with pytest.raises(LearningError, match=r"annotation 'reward' of run r is .*; expected a number, or null"):
        reward_as_of(RUN, [note("reward", value)])


def test_an_unknown_sealed_reward_stays_unknown() -> None:
    run: Run = run_of("r", [], None)
    assert reward_as_of(run) is None
