"""What the runs of a trial are given: from flags, from the plan, or from the tasks beside the workflow."""

from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

from stretto.chaos.trial import Given
from stretto.cli.json_lines import lines_of
from stretto.cli.json_text import parse_json
from stretto.cli.task_file import read_tasks
from stretto.cli.terminal import json_bytes
from stretto.components.python.loading import importable
from stretto.learn.tasks import Task
from stretto.plan.model import Plan
from stretto.plan.sample import sample_of
from stretto.record.canonical import snapshot
from stretto.spec.chaos_model import ChaosSpec
from stretto.types.errors import InputError, NotJsonError, UsageError
from stretto.types.json import JsonObject

TASKS_BESIDE: Final = "tasks.jsonl"
"""What `stretto new` puts beside a workflow."""

SPLIT: Final = "train"
"""Which tasks of a Python file are asked for: what is measured on others stays unseen."""


def read_given(
    chaos: ChaosSpec, folder: Path, workflow: Path, *, one: JsonObject | None, inputs: Path | None, tasks: Path | None
) -> list[Given]:
    """The first that is there of: the flags, the plan (whose files are in `folder`), tasks beside the workflow.

    Raises UsageError when two flags are given, when there is none of all these, and for what is wrong in a file.
    """
    flags = [flag for flag, value in (("--input", one), ("--inputs", inputs), ("--tasks", tasks)) if value is not None]
    if len(flags) > 1:
        raise UsageError(f"{' and '.join(flags)} all say what the runs are given; keep one")
    if one is not None:
        return [Given(input=one)]
    if inputs is not None:
        return _of_lines(inputs)
    if tasks is not None:
        return _of_tasks(tasks)
    if chaos.inputs:
        return [Given(input=dict(each)) for each in _plain(chaos)]
    if chaos.inputs_file is not None:
        return _of_lines(folder / chaos.inputs_file.value)
    if chaos.tasks_file is not None:
        return _of_tasks(folder / chaos.tasks_file.value)
    beside = workflow.parent / TASKS_BESIDE
    if beside.is_file():
        return _of_tasks(beside)
    raise UsageError(
        "there is nothing to give to the runs: say --input JSON or --inputs FILE, put `inputs` or `tasks` into the "
        f"plan, or a file {TASKS_BESIDE} beside the workflow"
    )


def hold_to_contract(given: Sequence[Given], plan: Plan) -> None:
    """Raise InputError for the first input that the workflow would refuse, before anything is run."""
    for number, each in enumerate(given, 1):
        violations = () if plan.input_check is None else plan.input_check.violations(each.input)
        if violations:
            sample = sample_of(plan.input_schema, each.input)
            hint = "" if sample is None else json_bytes(sample).decode()
            raise InputError(f"input {number} of {len(given)}", violations, hint)


def _plain(chaos: ChaosSpec) -> Iterable[JsonObject]:
    for each in chaos.inputs:
        value = parse_json(snapshot(each), "`inputs` of the plan")
        yield value if isinstance(value, dict) else {}


def _of_lines(path: Path) -> list[Given]:
    found = [_of_line(line, place) for place, line in lines_of(path, "inputs")]
    if not found:
        raise UsageError(f"{path} holds no inputs; expected one JSON object a line")
    return found


def _of_line(line: bytes, place: str) -> Given:
    value = parse_json(line, place)
    if not isinstance(value, dict):
        raise UsageError(f"{place} is no input; expected a JSON object, with the fields that a run takes")
    try:
        snapshot(value)
    except NotJsonError as error:
        raise UsageError(f"{place}: {error}") from error
    return Given(input=value)


def _of_tasks(path: Path) -> list[Given]:
    tasks = _of_python(path) if path.suffix == ".py" else read_tasks(path)
    return [
        Given(
            input=dict(task.input),
            reference=task.reference,
            memory=None if task.memory is None else dict(task.memory),
            labels={**task.labels, "task": task.name},
        )
        for task in tasks
    ]


def _of_python(path: Path) -> list[Task]:
    """The tasks that a Python file's ``tasks(split)`` gives."""
    if not path.is_file():
        raise UsageError(f"tasks: there is no file {path}")
    with importable(path.parent):
        made = getattr(import_module(path.stem), "tasks", None)
        found = made(SPLIT) if callable(made) else None
    if not isinstance(found, list) or not found or not all(isinstance(task, Task) for task in found):
        raise UsageError(f"tasks: {path} has no function `tasks` that gives a list of Task for the split '{SPLIT}'")
    return found
