"""The engine: a Plan and an input become a sealed Run."""

import asyncio
import random
import time
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Final

import msgspec

from stretto.engine.admission import Admitted, admit, admit_again
from stretto.engine.alarm import Watch
from stretto.engine.business import grace_s, stand_by
from stretto.engine.carried import carry_on, note_lying
from stretto.engine.ending import finish
from stretto.engine.history import History, Mode, changed_components, hold_to_manifest
from stretto.engine.meaning import input_notes
from stretto.engine.opening import Opens, once_open
from stretto.engine.protections import Protections
from stretto.engine.request import RunRequest, request_of
from stretto.engine.run_root import run_root
from stretto.engine.seen import around
from stretto.engine.sessions import Sessions
from stretto.engine.standby import Standbys
from stretto.engine.state import Lane, Reopen, RunState
from stretto.engine.substitutes import read_substitutes
from stretto.engine.tuned import Tuned
from stretto.engine.work import do_work
from stretto.plan.model import INPUT, RESOURCES, RUN, Frame, Plan
from stretto.record.canonical import canonical
from stretto.record.model import ErrorInfo, Run, RunBudget, decoded
from stretto.record.recorder import Journal, Recorder
from stretto.types.budget import Budget
from stretto.types.enums import Reason, RunStatus, StepStatus
from stretto.types.ids import keyed_digest_of, new_run_id, workflow_run_id
from stretto.types.json import Json, JsonObject
from stretto.types.messages import RunInfo
from stretto.types.protocols import Clock, Live

SEED_BITS: Final = 53
"""Of a drawn seed: JSON readers that know only doubles keep it exact."""


class SystemClock:
    """Time of day from the system, elapsed time from the running event loop."""

    def time_ns(self) -> int:
        return time.time_ns()

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


class Engine:
    """Runs plans and hands every run to its recorder. Holds nothing of a run: one engine serves all at once."""

    def __init__(
        self,
        recorder: Recorder,
        *,
        clock: Clock | None = None,
        input_key: bytes = b"",
        protections: Protections | None = None,
        standbys: Standbys | None = None,
        tuned: Tuned | None = None,
    ) -> None:
        """`protections` are shared by engines whose components are the same; without it, this one has its own.

        `standbys` know of failures in a row of whole workflows; without it every run is tried, and none is counted.
        `tuned` is what holds in place of the plan's own figures, for the plan that this engine runs.
        """
        self._recorder = recorder
        self._clock = clock or SystemClock()
        self._jitter = random.Random()  # noqa: S311  # spreads retries, keeps no secret
        self._input_key = input_key
        self.protections = protections or Protections()
        self._standbys = standbys
        self._tuned = tuned or Tuned()
        self.live: Live | None = None
        """What probes tell of the machine."""
        self.opens: Opens | None = None
        """What opens the components that are not open yet, where a fallback answers when one does not open."""
        self.shut: Mapping[str, Reopen] = {}
        """Components that did not open and that steps can do without, by name, and what opens each."""

    async def run(self, plan: Plan, request: RunRequest) -> Run:
        """Execute the plan on an input; returns the sealed run, whatever became of it.

        Raises InputError when the input does not fit the contract (no run is made then), StoreError when the
        record cannot be kept, and CancelledError after sealing the run as cancelled.
        """
        plan = self._tuned.of(plan)
        admitted = admit(plan, request)
        return await self._start(plan, admitted, self._record_of(plan, admitted), history=None)

    def run_admitted(self, plan: Plan, admitted: Admitted) -> Coroutine[Any, Any, Run]:
        """`run` for a request that was checked before."""
        plan = self._tuned.of(plan)
        return self._start(plan, admitted, self._record_of(plan, admitted), history=None)

    async def replay(
        self,
        plan: Plan,
        run: Run,
        request: RunRequest,
        *,
        outputs: Mapping[str, Json],
        dry_run: bool = False,
        is_closed: bool = False,
    ) -> Run:
        """Run a recorded run again under a change: another plan or components, another input, or fixed outputs.

        `outputs` maps step paths to outputs that stand in place of calls. Unchanged steps are taken from the record,
        writes are never performed, and one that is closed asks nothing that reads the world either. Raises, before
        anything is run, ReplayError when `outputs` names a step that the run
        does not have, InputError when an output is none that the step's component could have given.
        """
        plan = self._tuned.of(plan)
        substitutes = read_substitutes(plan, run, outputs)
        admitted = admit_again(plan, request)
        again = self._record_of(plan, admitted)
        again.replay_of = run.id
        if run.evidence and bytes(again.input) == bytes(run.input):
            again.evidence = {**input_notes(run.evidence), **again.evidence}
        history = History(
            mode=Mode.REPLAY,
            run=run,
            steps={step.path: step for step in run.steps},
            outputs=substitutes,
            changed=changed_components(run.manifest, plan.manifest),
            downgraded=tuple(step.path for step in run.steps if step.status is StepStatus.FALLBACK),
            dry_run=dry_run,
            is_closed=is_closed,
        )
        return await self._start(plan, admitted, again, history=history)

    async def resume(
        self, plan: Plan, run: Run, history: History, journal: Journal, *, baggage: Mapping[str, str] | None = None
    ) -> Run:
        """Go on with an interrupted or parked run under the manifest that it was pinned to, or refuse.

        Its baggage was not recorded, and is given again.
        """
        plan = self._tuned.of(plan)
        hold_to_manifest(run, plan.manifest)
        request = request_of(run, baggage or {})
        note_lying(run, self._clock.time_ns())
        run.status, run.reason, run.error = None, None, None
        return await self._execute(plan, request, run, decoded(run.input), history, journal)

    def begin(self, plan: Plan, admitted: Admitted, journal: Journal) -> tuple[RunState, Budget]:
        """A run about to begin, and what it may spend, for whoever executes the plan otherwise than `run` does.

        Call it in the event loop of the run. It is over with `ending.finish`, which seals it in the journal.
        """
        plan = self._tuned.of(plan)
        run, now = self._record_of(plan, admitted), _time_of(asyncio.get_running_loop())
        began, watch = now(), Watch(asyncio.get_running_loop())
        state = self._state_of(plan, admitted.request, run, None, journal, now, began, watch)
        return state, Budget.start(admitted.request.budget or plan.budget, began)

    # execution

    def _record_of(self, plan: Plan, admitted: Admitted) -> Run:
        """A record of what is about to be run; nothing has been kept yet."""
        request = admitted.request
        run_id = new_run_id()
        input_digest = keyed_digest_of(self._input_key, canonical(admitted.encoded))
        run = Run(
            id=run_id,
            workflow_run_id=workflow_run_id(plan.name, plan.version, plan.manifest_digest, input_digest, run_id),
            manifest=plan.manifest,
            input=msgspec.Raw(admitted.encoded),
            input_digest=input_digest,
            started_at_ns=self._clock.time_ns(),
            tenant=request.tenant,
            labels=dict(request.labels),
            seed=self._jitter.getrandbits(SEED_BITS) if request.seed is None else request.seed,
            reference=admitted.reference,
            memory=admitted.memory,
            resources=admitted.resources,
            parent=request.parent,
            settings=self._tuned.revision,
        )
        if admitted.evidence:
            run.evidence = admitted.evidence
        if request.budget is not None:
            run.budget = RunBudget.of(request.budget)
        if request.traceparent:
            run.traceparent = request.traceparent
        if request.tracestate:
            run.tracestate = request.tracestate
        if request.effect_key:
            run.effect_key = request.effect_key
        if request.baggage:
            run.baggage = tuple(sorted(request.baggage))
        return run

    async def _start(self, plan: Plan, admitted: Admitted, run: Run, *, history: History | None) -> Run:
        journal = await self._recorder.open(run, plan.durability)
        return await self._execute(plan, admitted.request, run, admitted.value, history, journal)

    async def _execute(
        self, plan: Plan, request: RunRequest, run: Run, value: JsonObject, history: History | None, journal: Journal
    ) -> Run:
        """Run the plan to its end and seal the run, whatever becomes of it."""
        loop = asyncio.get_running_loop()
        now = _time_of(loop)
        began = now()
        limits = request.budget or plan.budget
        if plan.business is not None:
            limits = limits.reserving()
        watch = Watch(loop) if plan.business is None else Watch(loop, grace_s(limits))
        state = self._state_of(plan, request, run, history, journal, now, began, watch)
        lane = Lane(watch.alarm(), Budget.start(limits, began))
        if history is not None and history.mode is Mode.RESUME:
            carry_on(state, history, lane.budget)
        try:
            await self._answer(state, request, value, lane)
        except asyncio.CancelledError:
            run.status, run.reason = RunStatus.CANCELLED, Reason.CANCELLED
            run.error = _stopped_over(run) or run.error
            raise
        finally:
            state.watch.end()
            await finish(state, None if plan.business is None else lane.budget.final_deadline)
        return run

    def _state_of(
        self,
        plan: Plan,
        request: RunRequest,
        run: Run,
        history: History | None,
        journal: Journal,
        now: Callable[[], float],
        began: float,
        watch: Watch,
    ) -> RunState:
        """A run about to begin."""
        info = RunInfo(
            id=run.id,
            workflow_run_id=run.workflow_run_id,
            workflow=plan.name,
            version=plan.version,
            tenant=run.tenant,
            labels=run.labels,
            seed=run.seed,
            baggage=request.baggage,
            traceparent=request.traceparent,
            tracestate=request.tracestate,
            resumed=history is not None and history.mode is Mode.RESUME,
        )
        reference = request.reference
        return RunState(
            plan=plan,
            run=run,
            info=info,
            info_with_reference=info if reference is None else msgspec.structs.replace(info, reference=reference),
            journal=journal,
            clock=self._clock,
            now=now,
            started=began if history is None else began - self._elapsed_s(run, history),
            watch=watch,
            jitter=self._jitter,
            durability=plan.durability,
            sessions=Sessions(info),
            protections=self.protections.of(plan),
            retuned=self._tuned.ops,
            given=request.resources,
            live=self.live,
            shut=self.shut,
            standbys=None if history is not None and history.mode is Mode.REPLAY else self._standbys,
            history=history,
        )

    def _elapsed_s(self, run: Run, history: History) -> float:
        """Seconds since the run was accepted: more than none when it is resumed."""
        return max(0, self._clock.time_ns() - run.started_at_ns) / 1e9 if history.mode is Mode.RESUME else 0.0

    async def _answer(self, state: RunState, request: RunRequest, value: JsonObject, lane: Lane) -> None:
        """Run the steps and read the output; the run's status says what became of it."""
        plan, run = state.plan, state.run
        frame: Frame = [None] * plan.slots
        frame[INPUT] = value
        frame[RESOURCES] = request.resources if state.live is None else around(state)
        if plan.reads_run:
            frame[RUN] = run_root(run, state.downgrades)
        if plan.business is None:
            await do_work(state, request, frame, lane)
            return
        work = partial(do_work, state, request, frame, lane)
        if self.opens is not None and state.history is None:
            work = partial(once_open, self.opens, state, frame, lane, work)
        standbys = self._standbys if state.history is None else None
        standby = None if standbys is None else standbys.of(plan, plan.business, state.now())
        await stand_by(state, plan.business, standby, request, frame, lane, work)


def _time_of(loop: asyncio.AbstractEventLoop) -> Callable[[], float]:
    """The loop's clock, without the call that asyncio's own loops put around it."""
    return time.monotonic if type(loop).time is asyncio.BaseEventLoop.time else loop.time


def _stopped_over(run: Run) -> ErrorInfo | None:
    """What had failed when a run was cancelled, and was not gone on from."""
    return next((step.error for step in reversed(run.steps) if step.error and step.reason is Reason.CANCELLED), None)
