"""`stretto runs resume`: goes on with an interrupted or parked run, after a person's word on a write in doubt."""

from typing import Annotated

import typer

from stretto.cli.checkpoints import hold_to_pins, read_checkpoints
from stretto.cli.help import VerbCommand
from stretto.cli.making import WatchedStore, make_run
from stretto.cli.options import DEFAULT_WORKFLOW, AsJson, Baggage, Checkpoint, RunRef, StorePath, WorkflowOption
from stretto.cli.terminal import note
from stretto.cli.values import read_object, read_pairs
from stretto.cli.waiting import Typed
from stretto.cli.who import who
from stretto.engine.request import hold_to_baggage
from stretto.record.model import Run
from stretto.runtime.asked import check_resumable
from stretto.runtime.finding import find_run
from stretto.runtime.load import store_path
from stretto.runtime.workflow import Workflow
from stretto.store.sqlite import Store
from stretto.types.errors import UsageError
from stretto.types.json import JsonObject

app = typer.Typer(add_completion=False)


@app.command(cls=VerbCommand)
def resume(
    run: RunRef,
    workflow: WorkflowOption = DEFAULT_WORKFLOW,
    happened: Annotated[
        str | None,
        typer.Option(
            "--happened", metavar="JSON|@FILE|-", help="The write in doubt happened, and this is what it answered."
        ),
    ] = None,
    did_not_happen: Annotated[
        bool, typer.Option("--did-not-happen", help="The write in doubt did not happen; it is made again.")
    ] = False,
    step: Annotated[
        str | None, typer.Option("--step", metavar="PATH", help="Which write, when several are in doubt.")
    ] = None,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="How you know; kept with your name and the time.")
    ] = "",
    baggage: Baggage = None,
    checkpoint: Checkpoint = None,
    store: StorePath = None,
    as_json: AsJson = False,
) -> int:
    """Go on with a run that was interrupted or parked; what was recorded is not done again.

    A write in doubt is settled first, by your word: it is kept who gave it, when and why. Needs the same versions of
    workflow and components that the run was pinned to, and the same weights.
    """
    again = read_pairs(baggage or (), "--baggage")
    weights = read_checkpoints(checkpoint or ())
    with WatchedStore(store_path(store)) as kept:
        found = find_run(kept, run)
        kept.begun = found.id
        check_resumable(found)  # before a word is written down, which could not be given twice
        hold_to_baggage(found, again)
        is_told = happened is not None or did_not_happen
        if not is_told and (step is not None or reason):
            raise UsageError("--step and --reason go with --happened OUTPUT or --did-not-happen")
        answer = _word(happened, did_not_happen=did_not_happen)
        path = _write_meant(kept, found.id, step) if is_told else ""

        async def go_on(loaded: Workflow) -> Run:
            hold_to_pins(found, loaded)
            if is_told:
                await _settle(loaded, found.id, path, answer, reason)
            return await loaded.resume(found.id, owner=who(), baggage=again)

        typed = Typed(file=workflow, weights=weights, store=store)
        return make_run(kept, typed, go_on, as_json=as_json)


def _word(happened: str | None, *, did_not_happen: bool) -> JsonObject | None:
    """The write's answer, None when it did not happen."""
    if happened is None:
        return None
    if did_not_happen:
        raise UsageError("--happened and --did-not-happen exclude each other; which is it?")
    return read_object(happened, "--happened")


def _write_meant(store: Store, run_id: str, step: str | None) -> str:
    """The path of the write in doubt that is to be settled."""
    in_doubt = [effect.path for effect in store.effects(run_id) if effect.in_doubt]
    if step is None and len(in_doubt) > 1:
        raise UsageError(f"{len(in_doubt)} writes are in doubt: {', '.join(in_doubt)}; say which with --step PATH")
    if not in_doubt:
        raise UsageError(f"run {run_id} has no write in doubt; resume it without --happened or --did-not-happen")
    return step or in_doubt[0]


async def _settle(workflow: Workflow, run_id: str, path: str, answer: JsonObject | None, reason: str) -> None:
    name = who()
    await workflow.settle(run_id, path, response=answer, by=name, reason=reason)
    note(f"settled by {name}: the write at '{path}' {'did not happen' if answer is None else 'happened'}")
