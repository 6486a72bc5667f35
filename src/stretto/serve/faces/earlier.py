"""What became of a call that may write, told by the store: it outlives the server, whose memory of keys does not."""

import asyncio
from collections.abc import Sequence

import msgspec

from stretto.engine.admission import admit
from stretto.engine.request import RunRequest
from stretto.record.canonical import canonical
from stretto.record.model import Run
from stretto.runtime.workflow import Workflow
from stretto.serve.faces.answered import error_of, may_have_written
from stretto.types.enums import Durability, RunStatus
from stretto.types.errors import Code, ComponentError, InDoubtError, ReplayError


class Earlier:
    """The runs of one workflow by the effect keys of the calls that they answer."""

    def __init__(self, workflow: Workflow) -> None:
        self._workflow = workflow

    async def run_of(self, request: RunRequest) -> Run | None:
        """The run that answers this call, gone on with where its process is gone; None where there is none yet, or
        what there was surely wrote nothing, so that the call may be answered anew.

        Raises ComponentError: ALREADY_EXISTS when the key stands for another request, InDoubtError when nobody knows
        what became of it; StoreError while another process is at work on it; InputError for a request that cannot be
        run.
        """
        run = await self._found(request)
        if run is None or run.answered:
            return run
        if run.status is None:
            return await self._gone_on_with(run, request)
        error = await self._error_of(run)
        if isinstance(error, InDoubtError):
            raise error
        return None

    async def told_of(self, request: RunRequest) -> Run | None:
        """The run that answered this call; None when it surely was not answered and nothing was written. Nothing is
        done. Raises as `run_of`, and InDoubtError where what there is does not tell."""
        run = await self._found(request)
        if run is None:
            if self._workflow.plan.durability is Durability.STEP:
                return None
            kept = f"workflow '{self._workflow.name}' has durability '{self._workflow.plan.durability}'"
            raise InDoubtError(f"no run is known that answers this call, and {kept}, which loses those of a crash")
        if run.answered:
            return run
        if run.status is None:
            more = "the same call again goes on with it" if self._can_go_on(run) else "look at it: stretto runs show"
            raise InDoubtError(f"run {run.id} has begun and not ended; {more}")
        error = await self._error_of(run)
        if isinstance(error, InDoubtError):
            raise error
        return None

    async def _found(self, request: RunRequest) -> Run | None:
        """The run that decides: one that answered, one that is open or in doubt, or the last that failed."""
        store, name = self._workflow.store, self._workflow.name
        runs = await asyncio.to_thread(store.by_effect_key, name, request.effect_key)
        if not runs:
            return None
        self._hold_to_request(runs, request)
        decided = [run for run in runs if run.answered or run.status in (None, RunStatus.PARKED)]
        if decided:
            return decided[-1]
        for run in runs:
            if may_have_written(run, await asyncio.to_thread(store.effects, run.id)):
                return run
        return runs[-1]

    def _hold_to_request(self, runs: Sequence[Run], request: RunRequest) -> None:
        asked = canonical(admit(self._workflow.plan, msgspec.structs.replace(request, effect_key="")).encoded)
        other = next((run for run in runs if canonical(bytes(run.input)) != asked), None)
        if other is not None:
            raise ComponentError(
                f"effect key {request.effect_key!r} was used with another request, which run {other.id} answers; a key "
                "stands for one request to one component",
                Code.ALREADY_EXISTS,
            )

    async def _gone_on_with(self, run: Run, request: RunRequest) -> Run:
        if not self._can_go_on(run):
            raise InDoubtError(f"run {run.id} was interrupted, and was pinned to other versions than are served now")
        try:
            return await self._workflow.resume(run.id, owner="serve", baggage=request.baggage)
        except ReplayError as error:
            raise InDoubtError(f"run {run.id} was interrupted, and cannot be gone on with: {error}") from error

    def _can_go_on(self, run: Run) -> bool:
        return run.manifest == self._workflow.plan.manifest

    async def _error_of(self, run: Run) -> ComponentError:
        return error_of(run, await asyncio.to_thread(self._workflow.store.effects, run.id))
