"""`stretto replay`: a recorded run made again under a change; writes are never performed."""

from typing import Annotated

import typer

from stretto.cli.checkpoints import read_checkpoints
from stretto.cli.help import VerbCommand
from stretto.cli.making import WatchedStore, make_run
from stretto.cli.options import DEFAULT_WORKFLOW, AsJson, Baggage, Checkpoint, RunRef, StorePath, WorkflowOption
from stretto.cli.values import read_object, read_outputs, read_pairs
from stretto.cli.waiting import Typed
from stretto.record.model import Run
from stretto.runtime.finding import find_run
from stretto.runtime.load import store_path
from stretto.runtime.recorded_step import called_step
from stretto.runtime.workflow import Workflow

app = typer.Typer(add_completion=False)


@app.command(cls=VerbCommand)
def replay(
    run: RunRef,
    workflow: WorkflowOption = DEFAULT_WORKFLOW,
    given: Annotated[
        str | None, typer.Option("--input", "-i", metavar="JSON|@FILE|-", help="Another input than the recorded one.")
    ] = None,
    output: Annotated[
        list[str] | None,
        typer.Option("--output", metavar="STEP=JSON", help="Stands in place of a step's call; may be repeated."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Leave out writes that the record cannot answer for, and read null there.")
    ] = False,
    baggage: Baggage = None,
    checkpoint: Checkpoint = None,
    store: StorePath = None,
    as_json: AsJson = False,
) -> int:
    """Run a recorded run again under a change; perform no writes.

    The change is this workflow's versions, other weights of a policy, another input, or given outputs of steps.
    Steps whose request and component are unchanged are taken from the record. A write is never performed: without
    --dry-run a replay that would have to make one is refused. The replay is kept as a run of its own.
    """
    run_input = None if given is None else read_object(given, "--input")
    outputs = read_outputs(output or ())
    carried = read_pairs(baggage or (), "--baggage")
    weights = read_checkpoints(checkpoint or ())
    with WatchedStore(store_path(store)) as kept:
        found = find_run(kept, run)
        for path in outputs:
            called_step(found, path)

        async def again(loaded: Workflow) -> Run:
            return await loaded.replay(found, run_input=run_input, outputs=outputs, dry_run=dry_run, baggage=carried)

        return make_run(kept, Typed(file=workflow, weights=weights, store=store), again, as_json=as_json)
