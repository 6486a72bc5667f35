"""The runs that an update asks for."""

from collections import Counter

import pytest

from stretto.learn.options import TrainOptions
from stretto.learn.tasks import Task, enough_tasks, requests_of, tasks_digest
from stretto.types.errors import UsageError

TASKS = [Task(name=f"t{i}", input={"words": str(i)}, labels={"split": "train"}) for i in range(5)]
OPTIONS = TrainOptions(tasks_per_update=3, group_size=2)


def test_every_task_comes_as_often_as_any_other() -> None:
    asked = Counter(r.task.name for update in range(1, 11) for r in requests_of(TASKS, OPTIONS, update))
    assert asked == {f"t{i}": 12 for i in range(5)}


def test_no_task_comes_twice_in_a_deck() -> None:
    names = [r.task.name for update in (1, 2) for r in requests_of(TASKS, OPTIONS, update)][::2]
    assert len(set(names[:5])) == 5


def test_a_group_is_one_task_under_different_seeds() -> None:
    first, second = requests_of(TASKS, OPTIONS, 1)[:2]
    assert first.task == second.task
    assert first.seed != second.seed
    assert first.labels == second.labels
    assert first.labels == {
        "split": "train",
        "task": first.task.name,
        "group": f"1/{first.task.name}",
        "purpose": "train",
    }


def test_an_update_asks_for_the_same_runs_whenever_it_is_made() -> None:
    assert requests_of(TASKS, OPTIONS, 4) == requests_of(TASKS, OPTIONS, 4)
    assert requests_of(TASKS, OPTIONS, 4) != requests_of(TASKS, OPTIONS, 5)
    assert requests_of(TASKS, OPTIONS, 4) != requests_of(
        TASKS, TrainOptions(tasks_per_update=3, group_size=2, seed=1), 4
    )


def test_seeds_are_json_integers_and_all_different() -> None:
    seeds = [r.seed for update in range(1, 50) for r in requests_of(TASKS, OPTIONS, update)]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**63 for seed in seeds)


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        (TASKS[:2], "tasks_per_update is 3, but there are 2 tasks; give more tasks, or set tasks_per_update to 2"),
        (TASKS[:1], "there is 1 task; give more tasks"),
        ([], "there are 0 tasks"),
        ([*TASKS, TASKS[0]], r"repeated: \['t0'\]"),
        ([*TASKS, Task(name="", input={})], f"the name of task {len(TASKS) + 1} is empty; give it one"),
    ],
)
def test_tasks_that_cannot_fill_an_update_are_refused(tasks: list[Task], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        enough_tasks(tasks, OPTIONS)


def test_tasks_are_the_same_only_with_the_same_content_and_order() -> None:
    other = [*TASKS[:4], Task(name="t4", input={"words": "4"}, reference={"gold": 1}, labels={"split": "train"})]
    assert tasks_digest(TASKS) == tasks_digest(list(TASKS))
    assert len({tasks_digest(TASKS), tasks_digest(other), tasks_digest(TASKS[::-1])}) == 3
