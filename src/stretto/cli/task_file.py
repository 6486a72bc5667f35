"""Tasks to learn from, one a line."""

from pathlib import Path
from typing import Final

import msgspec

from stretto.cli.json_lines import lines_of
from stretto.cli.json_text import read_unrepeated
from stretto.learn.tasks import Task
from stretto.record.canonical import snapshot
from stretto.spec.read import read_source
from stretto.spec.suggest import nearest
from stretto.types.errors import NotJsonError, UsageError

EXPECTED: Final = '{"name": "...", "input": {...}}, and where wanted "reference": ..., "labels": {...}, "memory": {...}'


TASKS: Final = "tasks.jsonl"
"""The file of tasks that is meant when none is named."""


def tasks_beside(workflow: Path) -> Path:
    """The file of tasks beside a workflow's; UsageError where there is none, and what tells of it. SpecError where
    there is no such workflow."""
    place = workflow.parent / TASKS
    if place.is_file():
        return place
    read_source(workflow)  # where it is missing itself, its tasks are not what is wrong
    page = workflow.parent / "README.md"
    hint = f"{page} says how to make it, or name" if _speaks_of_tasks(page) else "name"
    raise UsageError(
        f"no --tasks FILE was given, and there is no {place}; {hint} a file of tasks, one a line: {EXPECTED}"
    )


def _speaks_of_tasks(page: Path) -> bool:
    try:
        return TASKS in page.read_text(errors="replace")
    except OSError:
        return False


def read_tasks(path: Path) -> list[Task]:
    """Read a JSON Lines file of tasks; raises UsageError with the line's number."""
    tasks = [_task(line, place) for place, line in lines_of(path, "--tasks")]
    if not tasks:
        raise UsageError(f"{path} holds no tasks; expected one a line: {EXPECTED}")
    return tasks


def _task(line: bytes, place: str) -> Task:
    try:
        fields = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        unknown = fields.keys() - set(Task.__struct_fields__)
        if unknown:
            guess = nearest(min(unknown), Task.__struct_fields__)
            hint = f"did you mean '{guess}'? " if guess else ""
            raise UsageError(f"{place}: a task has no field '{min(unknown)}'; {hint}expected {EXPECTED}")
        task = msgspec.json.decode(line, type=Task)
        snapshot(read_unrepeated(line, place))
    except msgspec.DecodeError as error:
        raise UsageError(f"{place} is no task: {error}; expected {EXPECTED}") from error
    except NotJsonError as error:
        raise UsageError(f"{place}: {error}") from error
    return task
