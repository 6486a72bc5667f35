"""`stretto run`: one run on an input; its output on stdout, what became of it on stderr."""

import shlex
from typing import Annotated

import orjson
import typer

from stretto.cli.checkpoints import read_checkpoints
from stretto.cli.help import VerbCommand
from stretto.cli.making import WatchedStore, make_run
from stretto.cli.options import DEFAULT_WORKFLOW, AsJson, Baggage, Checkpoint, StorePath, WorkflowFile
from stretto.cli.values import read_json_pairs, read_object, read_pairs, read_value
from stretto.cli.waiting import Typed
from stretto.engine.request import RunRequest
from stretto.plan.model import Plan
from stretto.plan.sample import sample_of
from stretto.record.model import Run
from stretto.runtime.load import store_path
from stretto.runtime.workflow import Workflow
from stretto.types.errors import InputError
from stretto.types.json import JsonObject

app = typer.Typer(add_completion=False)


@app.command(cls=VerbCommand)
def run(  # one parameter a flag
    file: WorkflowFile = DEFAULT_WORKFLOW,
    given: Annotated[
        str, typer.Option("--input", "-i", metavar="JSON|@FILE|-", help="The input. [default: {}]", show_default=False)
    ] = "{}",
    label: Annotated[
        list[str] | None,
        typer.Option("--label", metavar="NAME=TEXT", help="task, group, split, purpose, ...; may be repeated."),
    ] = None,
    tenant: Annotated[str, typer.Option("--tenant", metavar="NAME", help="Whose run it is.")] = "default",
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", help="Of every random choice in the run. [default: drawn]")
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(
            "--reference", metavar="JSON|@FILE|-", help="Gold answers, which only reward components can read."
        ),
    ] = None,
    resource: Annotated[
        list[str] | None,
        typer.Option(
            "--resource",
            metavar="NAME=TEXT|NAME:=JSON",
            help="A value that the workflow reads at resources.NAME; may be repeated.",
        ),
    ] = None,
    baggage: Baggage = None,
    checkpoint: Checkpoint = None,
    store: StorePath = None,
    as_json: AsJson = False,
) -> int:
    """Run a workflow once; print its output and keep the run.

    Exits with 1 when the run gave no answer. Ctrl-C cancels the components and seals the run as cancelled.
    """
    run_input = read_object(given, "--input")
    request = RunRequest(
        input=run_input,
        labels=read_pairs(label or (), "--label"),
        tenant=tenant,
        seed=seed,
        reference=None if reference is None else read_value(reference, "--reference"),
        resources=read_json_pairs(resource or (), "--resource"),
        baggage=read_pairs(baggage or (), "--baggage"),
    )
    weights = read_checkpoints(checkpoint or ())

    async def start(workflow: Workflow) -> Run:
        try:
            return await workflow.run_request(request)
        except InputError as error:
            raise _with_sample(error, workflow.plan, run_input) from None

    with WatchedStore(store_path(store)) as kept:
        return make_run(kept, Typed(file=file, weights=weights, store=store), start, as_json=as_json)


def _with_sample(error: InputError, plan: Plan, given: JsonObject) -> InputError:
    """The error with an input that the contract takes, as near to the given one as can be."""
    sample = sample_of(plan.input_schema, given)
    if sample is None:
        return error
    return InputError(error.what, error.violations, f"--input {shlex.quote(orjson.dumps(sample).decode())}")
