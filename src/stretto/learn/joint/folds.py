"""Which tasks a joint training learns from, and on which it is evaluated: a pure function of tasks and options."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

import msgspec
from msgspec import UNSET

from stretto.learn.joint.options import DEFAULT_HELD_OUT, JointOptions
from stretto.learn.tasks import Task
from stretto.types.errors import UsageError

TRAIN: Final = "train"
VALIDATION: Final = "validation"
TEST: Final = "test"

_SPLITS: Final = (TRAIN, VALIDATION, TEST)


class Folds(msgspec.Struct, frozen=True, kw_only=True):
    """The tasks of a training, apart."""

    train: tuple[Task, ...]
    held_out: tuple[Task, ...]
    """Empty where nothing is evaluated."""
    test: int
    """Tasks of the split ``test``, which a training never looks at."""


def folds_of(tasks: Sequence[Task], options: JointOptions) -> Folds:
    """Part the tasks by their label ``split``; where none says ``validation``, by a hash of their names.

    Raises UsageError for another split, for a batch larger than what is left to learn from, and where tasks are to be
    held out and none is.
    """
    for task in tasks:
        if task.labels.get("split", TRAIN) not in _SPLITS:
            raise UsageError(
                f"task '{task.name}' is of split '{task.labels['split']}'; expected one of {', '.join(_SPLITS)}, or "
                "none"
            )
    usable = [task for task in tasks if task.labels.get("split", TRAIN) != TEST]
    train, held_out = _labelled(usable, options) if _has_validation(usable) else _hashed(usable, options)
    if len(train) < options.batch_size:
        raise UsageError(_too_large(options, len(train), len(held_out), len(tasks) - len(usable)))
    return Folds(train=tuple(train), held_out=tuple(held_out), test=len(tasks) - len(usable))


def _has_validation(tasks: Sequence[Task]) -> bool:
    return any(task.labels.get("split") == VALIDATION for task in tasks)


def _labelled(tasks: Sequence[Task], options: JointOptions) -> tuple[list[Task], list[Task]]:
    if options.held_out is not UNSET and options.held_out > 0:
        raise UsageError(
            f"held_out={options.held_out} has no effect: the tasks say by their label `split` which are held out; "
            "leave held_out out, or set it to 0 to evaluate never"
        )
    train = [task for task in tasks if task.labels.get("split", TRAIN) == TRAIN]
    held_out = [task for task in tasks if task.labels.get("split") == VALIDATION]
    return train, _some(held_out, options) if options.evaluates else []


def _hashed(tasks: Sequence[Task], options: JointOptions) -> tuple[list[Task], list[Task]]:
    if not options.evaluates:
        return list(tasks), []
    share = DEFAULT_HELD_OUT if options.held_out is UNSET else options.held_out
    held_out = [task for task in tasks if _place(task) < share]
    if not held_out:
        raise UsageError(
            f"none of {len(tasks)} tasks is held out, where a share of {share} is to be: give more tasks, give some "
            "the label split: validation, raise held_out, or set it to 0 to evaluate never"
        )
    return [task for task in tasks if _place(task) >= share], _some(held_out, options)


def _some(tasks: Sequence[Task], options: JointOptions) -> list[Task]:
    """At most `held_out_tasks`, the same ones whatever their order."""
    chosen = {task.name for task in sorted(tasks, key=_place)[: options.held_out_tasks]}
    return [task for task in tasks if task.name in chosen]


def _place(task: Task) -> float:
    """In [0, 1), by the task's name and nothing else: what is held out stays so under another seed."""
    return int.from_bytes(blake2b(task.name.encode(), digest_size=4).digest(), "little") / 2**32


def _too_large(options: JointOptions, train: int, held_out: int, test: int) -> str:
    apart = [f"{count} {what}" for count, what in ((held_out, "held out"), (test, "of split 'test'")) if count]
    beside = f", with {' and '.join(apart)} beside {'it' if train == 1 else 'them'}" if apart else ""
    there = "is 1 task" if train == 1 else f"are {train} tasks"
    return (
        f"batch_size is {options.batch_size}, but there {there} to learn from{beside}; give more tasks, or set "
        f"batch_size to {max(train, 1)}"
    )
