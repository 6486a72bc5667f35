"""What learning was given, held to what it asks for: a path where a workflow belongs is the slip that all make."""

import os
from collections.abc import Iterable

from stretto.learn.usable import Recorded
from stretto.record.model import Run
from stretto.runtime.workflow import Workflow
from stretto.types.arguments import as_tuple, shown, wrong


def check_workflow(value: object) -> None:
    """Raise UsageError unless it is a workflow."""
    if isinstance(value, Workflow):
        return
    if isinstance(value, str | os.PathLike):
        raise wrong("the workflow", value, f"a workflow, not its path; give it stretto.load({shown(str(value))})")
    raise wrong("the workflow", value, "a workflow, as stretto.load(path) returns one")


def as_recorded(runs: Iterable[Run | Recorded]) -> list[Recorded]:
    """Runs with what became known of them; raises UsageError for anything else."""
    expected = "a list of runs, or of `Recorded` with annotations; a store gives one by `store.get(id)`"
    given = as_tuple("runs", runs, expected)
    for number, each in enumerate(given):
        if not isinstance(each, Run | Recorded):
            raise wrong(f"runs[{number}]", each, "a run, or a `Recorded`; a store gives one by `store.get(id)`")
    return [each if isinstance(each, Recorded) else Recorded(run=each) for each in given]
