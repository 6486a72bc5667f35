"""`stretto acp reflect`: what became known of runs, told to the components that learn on their own side."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

import msgspec
import typer
from rich.console import Group, RenderableType
from rich.text import Text

from stretto.cli.exits import Exit
from stretto.cli.help import VerbCommand
from stretto.cli.opened import opened
from stretto.cli.options import DEFAULT_WORKFLOW, AsJson, StorePath, WorkflowFile
from stretto.cli.rows import labelled
from stretto.cli.stopping import run_async
from stretto.cli.terminal import print_json, results, show, stdout_for_results_only
from stretto.cli.words import count_text
from stretto.learn.reflect import Reflected, reflect as tell
from stretto.record.model import Run
from stretto.runtime.load import load
from stretto.runtime.workflow import Workflow
from stretto.store.sqlite import Store
from stretto.types.errors import UsageError

app = typer.Typer(add_completion=False)


@app.command(cls=VerbCommand)
def reflect(
    file: WorkflowFile = DEFAULT_WORKFLOW,
    last: Annotated[
        int, typer.Option("--last", metavar="N", min=1, help="How many recorded runs, newest first.")
    ] = 100,
    run: Annotated[
        list[str] | None, typer.Option("--run", metavar="RUN", help="Of this run alone. May be repeated.")
    ] = None,
    store: StorePath = None,
    as_json: AsJson = False,
) -> int:
    """Tell components that learn on their own side how their answers in recorded runs were judged.

    Sent are the run's reward as it is known now, the step's `credit`, and its `correction` annotations. The same signal
    counts once, however often it is sent. Exits with 1 when a component will not learn from one.
    """
    with opened(store) as kept:
        with stdout_for_results_only():
            workflow = load(file, store=kept)
            told = run_async(_told(workflow, _chosen(kept, workflow.name, run or (), last)))
        if as_json:
            print_json(msgspec.to_builtins(told))
        else:
            show(_report(told))
    return Exit.OK if all(each.accepted for each in told) else Exit.FAILED


async def _told(workflow: Workflow, runs: Sequence[Run]) -> list[Reflected]:
    async with workflow:
        return await tell(workflow, runs)


def _chosen(store: Store, workflow: str, named: Sequence[str], last: int) -> list[Run]:
    """The runs that are meant; UsageError when there is none."""
    if named:
        return [store.get(each) for each in named]
    found = [run for run in store.runs(workflow=workflow, limit=last) if run.status is not None and not run.replay_of]
    if not found:
        raise UsageError(f"{store.path} has no run of workflow '{workflow}' that has ended; run it first")
    return found


def _report(told: Sequence[Reflected]) -> RenderableType:
    if not told:
        return Text("no step of these runs was answered by a component that learns on its own side")
    sent = Counter(each.component for each in told)
    taken = Counter(each.component for each in told if each.accepted)
    rows = [
        (Text(name), (Text(f"{taken[name]} of {count_text(count, 'signal')} accepted"),))
        for name, count in sent.items()
    ]
    refused = Counter((each.component, each.note or "it says no") for each in told if not each.accepted)
    why = [Text(f"  {name}: {note} ({count_text(count, 'time')})", "red") for (name, note), count in refused.items()]
    return Group(labelled(rows, results().width), *why)
