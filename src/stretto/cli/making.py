"""Verbs that make a run: load, open, run, close, say what became of it; also when Ctrl-C comes in between."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from stretto.cli.checkpoints import with_checkpoints
from stretto.cli.exits import Exit
from stretto.cli.interrupted import tell_interrupted
from stretto.cli.outcome import tell_cancelled, tell_run
from stretto.cli.stopping import run_async, stopping_told
from stretto.cli.terminal import stdout_for_results_only, working
from stretto.cli.underway import Underway
from stretto.cli.waiting import Typed
from stretto.record.model import Run
from stretto.runtime.load import load
from stretto.runtime.workflow import Workflow
from stretto.store.journal import RunJournal
from stretto.store.sqlite import Store
from stretto.types.enums import Durability, RunStatus
from stretto.types.errors import StoreError, UsageError

Start = Callable[[Workflow], Awaitable[Run]]
"""Makes one run of a workflow that is open."""


class WatchedStore(Store):
    """A store that remembers the run begun last: whoever is interrupted has no other way to know its id."""

    begun: str = ""
    underway: Underway | None = None
    """Is told of the run that is begun."""

    async def open(self, run: Run, durability: Durability) -> RunJournal:
        """Begin a run's record."""
        self.begun = run.id
        if self.underway is not None:
            self.underway.run = run
        return await super().open(run, durability)


def make_run(store: WatchedStore, typed: Typed, start: Start, *, as_json: bool) -> int:
    """Make a run of the workflow, with the weights, that were typed, and tell of it. Returns the exit code.

    Ctrl-C cancels the components and lets the engine seal the run.
    """
    place = store.path.absolute()  # a component may change the working folder
    try:
        store.underway = Underway(typed.file)
        with stdout_for_results_only(), working(store.underway):
            workflow = with_checkpoints(load(typed.file, store=store), typed.weights or {})
            store.underway.follow(workflow.plan)
            made = run_async(_made(workflow, start))
    except KeyboardInterrupt:
        return _interrupted(store, typed, as_json=as_json)
    except (asyncio.CancelledError, SystemExit):
        # Nobody pressed Ctrl-C. A component cancelled the task that it was run in, or exited in a task of its own: that
        # ends the event loop.
        store.flush()
        made = store.get(store.begun)
    _check_kept(store, place, made)
    effects = store.effects(made.id) if made.status is RunStatus.PARKED else ()
    in_doubt = [effect.path for effect in effects if effect.in_doubt]
    tell_run(made, store.path, typed, in_doubt, as_json=as_json)
    return Exit.OK if made.answered else Exit.FAILED


def _check_kept(store: WatchedStore, place: Path, run: Run) -> None:
    """Raise StoreError when the file went away: SQLite goes on writing into one that nobody can open any more."""
    store.flush()
    if not place.exists():
        raise StoreError(
            f"{store.path} was deleted or moved while run {run.id} was made, so the run is not kept; "
            "leave the file alone while a run is made"
        )


def _interrupted(store: WatchedStore, typed: Typed, *, as_json: bool) -> int:
    """Tell of the run that was begun, if any was."""
    if not store.begun:
        raise KeyboardInterrupt
    store.flush()
    try:
        run = store.get(store.begun)
    except UsageError:  # a second Ctrl-C came before a run that is kept at its end only was sealed
        message = "stopped by Ctrl-C before the run could be sealed; nothing of it was kept"
        return tell_interrupted(message, as_json=as_json, run=store.begun)
    return tell_cancelled(run, typed, as_json=as_json)


async def _made(workflow: Workflow, start: Start) -> Run:
    with stopping_told():
        async with workflow:
            return await start(workflow)
