"""Runs are made, told of, and counted; a component that learns from none of them ends the teaching."""

from collections.abc import Sequence

import msgspec
import pytest

from stretto.learn.options import TrainOptions
from stretto.learn.reflect import Reflected
from stretto.learn.tasks import RolloutRequest, Task, requests_of
from stretto.learn.teach import TaughtReport, teach
from stretto.record.model import Run
from stretto.types.errors import LearningError, UsageError
from tests.unit.learn.worlds import run_of

TASKS = [Task(name=name, input={}) for name in "abc"]
OPTIONS = TrainOptions(updates=2, tasks_per_update=2, group_size=2)


class Place:
    """Makes runs with these rewards, and says of each whether it is learnt from."""

    def __init__(self, *rewards: float | None, refuses: str = "", answers: bool = True) -> None:
        self.asked: list[RolloutRequest] = []
        self.told: list[str] = []
        self._rewards = rewards
        self._refuses = refuses
        self._answers = answers

    async def make(self, requests: Sequence[RolloutRequest]) -> list[Run]:
        self.asked += requests
        return [run_of(f"run-{n}", [], self._rewards[n % len(self._rewards)]) for n, _ in enumerate(requests)]

    async def tell(self, runs: Sequence[Run]) -> list[Reflected]:
        self.told += [run.id for run in runs]
        one = Reflected(run_id="r", path="p", component="planner", reward=1.0, corrections=0, accepted=True)
        other = msgspec.structs.replace(one, component="another")
        if not self._answers:
            return [other]
        refused = msgspec.structs.replace(one, accepted=False, note=self._refuses)
        return [other, *(refused if self._refuses and run.reward is None else one for run in runs)]


async def taught(place: Place) -> tuple[TaughtReport, ...]:
    return await teach("planner", TASKS, make=place.make, tell=place.tell, options=OPTIONS)


async def test_the_runs_are_those_of_a_training_and_all_are_told_of() -> None:
    place = Place(1.0, 0.0)
    reports = await taught(place)
    assert place.asked == [*requests_of(TASKS, OPTIONS, 1), *requests_of(TASKS, OPTIONS, 2)]
    assert len(place.told) == len(place.asked)
    assert [(each.update, each.runs, each.reward_mean, each.accepted, each.refusal) for each in reports] == [
        (1, 4, 0.5, 4, ""),
        (2, 4, 0.5, 4, ""),
    ]


async def test_an_unknown_reward_is_not_0_and_a_refusal_is_kept() -> None:
    [first, _] = await taught(Place(1.0, None, refuses="unknown teaches nothing"))
    assert (first.judged, first.reward_mean, first.signals, first.accepted) == (2, 1.0, 4, 2)
    assert first.refusal == "unknown teaches nothing"


@pytest.mark.parametrize(
    ("place", "says"),
    [
        (Place(None, refuses="it has made its 10 updates"), "none of the 4 runs of update 1: it has made its 10 upd"),
        (Place(1.0, answers=False), "of update 1: it answered in none of them"),
    ],
)
async def test_where_nothing_is_learnt_it_ends(place: Place, says: str) -> None:
    with pytest.raises(LearningError, match=says):
        await taught(place)
    assert len(place.asked) == 4


async def test_too_few_tasks_are_told_before_a_run_is_made() -> None:
    place = Place(1.0)
    with pytest.raises(UsageError, match="tasks_per_update is 2, but there is 1 task"):
        await teach("planner", TASKS[:1], make=place.make, tell=place.tell, options=OPTIONS)
    assert place.asked == []
