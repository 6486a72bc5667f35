"""Which tasks are learnt from, which are held out, and which are never looked at."""

import msgspec
import pytest

from stretto.learn.joint import JointOptions
from stretto.learn.joint.folds import folds_of
from stretto.learn.joint.requests import rows_and_seeds
from stretto.learn.tasks import Task
from stretto.types.errors import UsageError
from tests.unit.learn.joint.made import tasks


def options(**given: float) -> JointOptions:
    return JointOptions(**{"batch_size": 8, **given})  # type: ignore[arg-type]  # whole numbers among them


def split(task: Task, name: str) -> Task:
    return msgspec.structs.replace(task, labels={"split": name})


def test_tasks_that_say_validation_are_held_out_and_test_is_never_looked_at() -> None:
    made = tasks(40)
    given = [*made[:20], *(split(task, "validation") for task in made[20:30]), *(split(t, "test") for t in made[30:])]
    folds = folds_of(given, options())
    assert (len(folds.train), len(folds.held_out), folds.test) == (20, 10, 10)
    assert len(folds_of(given, options(held_out_tasks=3)).held_out) == 3
    assert folds_of(given, options(held_out=0)).held_out == ()
    with pytest.raises(UsageError, match=r"held_out=0.3 has no effect: the tasks say by their label `split`"):
        folds_of(given, options(held_out=0.3))


def test_without_such_labels_a_share_is_held_out_by_name_whatever_the_seed_and_the_order() -> None:
    made = tasks(400)
    folds = folds_of(made, options())
    assert 60 <= len(folds.held_out) <= 100
    assert not {task.name for task in folds.train} & {task.name for task in folds.held_out}
    again = folds_of(made[::-1], options(seed=7))
    assert {task.name for task in again.held_out} == {task.name for task in folds.held_out}
    few = folds_of(made[::-1], options(held_out_tasks=5))
    assert {task.name for task in few.held_out} == {t.name for t in folds_of(made, options(held_out_tasks=5)).held_out}
    assert len(few.train) == len(folds.train)  # what is not evaluated on is not learnt from either


def test_test_tasks_are_neither_learnt_from_nor_held_out_by_hash() -> None:
    made = [split(task, "test") if place % 2 else task for place, task in enumerate(tasks(40))]
    folds = folds_of(made, options())
    assert folds.test == 20
    assert all(task.labels.get("split") != "test" for task in (*folds.train, *folds.held_out))


def test_folds_that_cannot_be_made_are_told_with_what_to_do() -> None:
    with pytest.raises(UsageError, match=r"none of 2 tasks is held out, where a share of 0.01 is to be"):
        folds_of(tasks(2), options(held_out=0.01))
    with pytest.raises(UsageError, match="batch_size is 64, but there are 40 tasks to learn from; give more tasks, or"):
        folds_of(tasks(40), JointOptions(held_out=0.0))
    apart = [split(task, "test") if place > 3 else task for place, task in enumerate(tasks(9))]
    with pytest.raises(UsageError, match="there are 4 tasks to learn from, with 5 of split 'test' beside them"):
        folds_of(apart, options(held_out=0))
    with pytest.raises(
        UsageError, match="task 't0' is of split 'dev'; expected one of train, validation, test, or none"
    ):
        folds_of([split(tasks(9)[0], "dev"), *tasks(9)[1:]], options())


def test_each_pass_over_the_tasks_takes_each_once_and_depends_on_the_update_alone() -> None:
    passes = [rows_and_seeds(24, options(), update) for update in range(1, 7)]
    first = [row for rows, _ in passes[:3] for row in rows]
    second = [row for rows, _ in passes[3:] for row in rows]
    assert sorted(first) == sorted(second) == [*range(24)]
    assert first != second
    seeds = [seed for _, some in passes for seed in some]
    assert len(set(seeds)) == len(seeds)
    assert rows_and_seeds(24, options(), 5) == passes[4]
    rows, _ = rows_and_seeds(5, options(), 1)  # a batch over the end of a pass
    assert sorted(rows[:5]) == [*range(5)]
