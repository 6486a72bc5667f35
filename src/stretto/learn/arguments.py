"""What learning was given, held to what it asks for: a path where a workflow belongs is the slip that all make."""

import os
from collections.abc import Iterable, Iterator

from stretto.components.policy import SoftmaxPolicy
from stretto.learn.rewards import A_RUN
from stretto.learn.usable import Recorded
from stretto.record.model import Run
from stretto.runtime.workflow import Workflow
from stretto.types.arguments import as_items, as_several, shown, wrong


def check_workflow(value: object) -> None:
    """Raise UsageError unless it is a workflow."""
    if isinstance(value, Workflow):
        return
    if isinstance(value, str | os.PathLike):
        raise wrong("the workflow", value, f"a workflow, not its path; give it stretto.load({shown(str(value))})")
    raise wrong("the workflow", value, "a workflow, as stretto.load(path) returns one")


def check_policy(value: object) -> None:
    """Raise UsageError unless it is a policy that is trained here."""
    if not isinstance(value, SoftmaxPolicy):
        raise wrong("the policy", value, "a stretto.SoftmaxPolicy, as workflow.component(name) gives one")


def as_recorded(runs: Iterable[Run | Recorded]) -> list[Recorded]:
    """Runs with what became known of them; raises UsageError for anything else."""
    return list(each_recorded(runs))


def each_recorded(runs: Iterable[Run | Recorded]) -> Iterator[Recorded]:
    """The same one after the other, as they are asked for."""
    expected = "a list of runs, or of `Recorded` with annotations; a store gives one by `store.get(id)`"
    for number, each in enumerate(as_items("runs", runs, expected)):
        yield one_recorded(each, f"runs[{number}]")


def one_recorded(run: Run | Recorded, what: str = "the run") -> Recorded:
    """A run with what became known of it, nothing where it comes alone; raises UsageError for anything else."""
    if isinstance(run, Recorded):
        return run
    if isinstance(run, Run):
        return Recorded(run=run)
    raise wrong(what, run, "a run, or a `Recorded`; a store gives one by `store.get(id)`")


def as_runs(runs: Iterable[Run]) -> tuple[Run, ...]:
    """Runs alone; raises UsageError for anything else."""
    return as_several("runs", runs, Run, "a list of runs; a store gives one by `store.get(id)`", A_RUN)
