"""Tasks to train on, and the runs that an update asks for: pure functions of the options, so nothing is remembered."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b

import msgspec
import numpy as np

from stretto.learn.options import TrainOptions
from stretto.plan.model import Plan
from stretto.record.canonical import canonical
from stretto.runtime.asked import training_labels
from stretto.types.arguments import as_tuple, check_fields, wrong
from stretto.types.errors import InputError, UsageError
from stretto.types.ids import Digest, digest_of
from stretto.types.json import Json, JsonObject


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to be good at: an input, and what only rewards may see of it."""

    name: str
    """The label ``task``: runs of one name are compared with each other."""
    input: JsonObject
    reference: Json = None
    """Gold answers, shown to steps of kind ``reward`` only."""
    memory: JsonObject | None = None
    """What the `memory` root holds: what earlier runs would have left. Nothing, when None."""
    labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Further labels of its runs, such as ``split``."""


class RolloutRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One run that training asks for."""

    task: Task
    seed: int
    labels: Mapping[str, str]
    """All labels of the run: the task's own, and ``task``, ``group``, ``purpose``."""


def as_tasks(tasks: Iterable[Task]) -> tuple[Task, ...]:
    """The tasks; raises UsageError unless each is one with a name, and no other's."""
    given = as_tuple("tasks", tasks, "a list of tasks")
    check_names(given)
    return given


def enough_tasks(tasks: Iterable[Task], options: TrainOptions) -> tuple[Task, ...]:
    """The tasks of a training; raises UsageError unless they are named apart and enough for an update."""
    if not isinstance(options, TrainOptions):
        raise wrong("options", options, "TrainOptions")
    tasks = as_tasks(tasks)
    if len(tasks) < options.tasks_per_update:
        there = "is 1 task" if len(tasks) == 1 else f"are {len(tasks)} tasks"
        raise UsageError(
            f"tasks_per_update is {options.tasks_per_update}, but there {there}; give more tasks, or set "
            f"tasks_per_update to {max(len(tasks), 1)}"
        )
    return tasks


def hold_to_contract(tasks: Sequence[Task], plan: Plan) -> None:
    """Raise InputError for the first task whose input the workflow would refuse, before anything is run."""
    for task in tasks:
        violations = () if plan.input_check is None else plan.input_check.violations(task.input)
        if violations:
            raise InputError(f"the input of task '{task.name}'", violations)


def check_names(tasks: Sequence[Task]) -> None:
    """Raise UsageError unless each is a task with a name, and no other's."""
    for place, task in enumerate(tasks, 1):
        if not isinstance(task, Task):
            raise wrong(f"task {place}", task, "a stretto.learn.tasks.Task")
        check_fields(f"task {place}", task)
    names = [task.name for task in tasks]
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if "" in names:
        place = names.index("") + 1
        raise UsageError(f"the name of task {place} is empty; give it one, by which its runs are compared and listed")
    if repeated:
        raise UsageError(f"tasks must have different names; repeated: {repeated}")


def requests_of(tasks: Sequence[Task], options: TrainOptions, update: int) -> list[RolloutRequest]:
    """The runs of one update (1 for the first): the next tasks of a shuffled deck, `group_size` runs of each.

    Order and seeds depend on the options' seed and the update only: a resumed training asks for the same runs.
    """
    places = places_of(update, options.tasks_per_update)
    requests: list[RolloutRequest] = []
    for place, row in zip(places, dealt(options.seed, places, len(tasks)), strict=True):
        task = tasks[row]
        labels = {**task.labels, **training_labels(update, task.name)}
        seeds = [run_seed(options.seed, place, sample) for sample in range(options.group_size)]
        requests += [RolloutRequest(task=task, seed=seed, labels=labels) for seed in seeds]
    return requests


def tasks_digest(tasks: Sequence[Task]) -> Digest:
    """Of all that a task says, in order: a training resumes on the tasks that it began with."""
    return digest_of(canonical(msgspec.to_builtins(list(tasks))))


def places_of(update: int, size: int) -> range:
    """Where an update of this size stands in the order of all that a training takes, the first from 0."""
    return range((update - 1) * size, update * size)


def dealt(seed: int, places: range, tasks: int) -> list[int]:
    """Which task stands at each place: deck after deck, each with every task once."""
    decks = {deck: deck_of(seed, deck, tasks) for deck in {place // tasks for place in places}}
    return [decks[place // tasks][place % tasks] for place in places]


def deck_of(seed: int, deck: int, tasks: int) -> list[int]:
    """The order of one pass over so many tasks."""
    order: list[int] = np.random.default_rng([seed, deck]).permutation(tasks).tolist()
    return order


def run_seed(seed: int, place: int, sample: int) -> int:
    """Another for every run of a training; 63 bits, so that it is a JSON integer."""
    key = f"{seed}/{place}/{sample}".encode()
    return int.from_bytes(blake2b(key, digest_size=8).digest(), "little") >> 1
