"""The engine: a Plan and an input become a sealed Run."""

import asyncio
import random
import time
from collections.abc import Callable, Mapping
from typing import Final

import msgspec
import orjson

from stretto.engine.alarm import Watch
from stretto.engine.call import StepCall
from stretto.engine.carried import carry_on
from stretto.engine.failure import error_info
from stretto.engine.graph import run_block
from stretto.engine.history import History, Mode, changed_components, hold_to_manifest
from stretto.engine.request import RunRequest, check_request
from stretto.engine.sessions import Sessions
from stretto.engine.state import Lane, RunState, StepFailed
from stretto.plan.model import INPUT, MEMORY, RESOURCES, RUN, Frame, Plan
from stretto.record.canonical import canonical, snapshot
from stretto.record.model import NULL, ErrorInfo, Run, decoded
from stretto.record.recorder import Journal, Recorder
from stretto.types.budget import Budget
from stretto.types.enums import Reason, RunStatus
from stretto.types.errors import Code, ContractError, ExpressionError, InputError, NotJsonError, ReplayError, Violation
from stretto.types.ids import StepPath, keyed_digest_of, new_run_id, workflow_run_id
from stretto.types.json import Json, JsonObject
from stretto.types.learning import Reward, total_reward
from stretto.types.messages import RunInfo, Usage
from stretto.types.protocols import Clock

MEMORY_PATH: Final = StepPath("$memory")
"""Step path of the implicit read of the `memory` root; no step name may hold a ``$``."""


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
    ) -> None:
        self._recorder = recorder
        self._clock = clock or SystemClock()
        self._jitter = random.Random()  # noqa: S311  # spreads retries, guards nothing
        self._input_key = input_key

    async def run(self, plan: Plan, request: RunRequest) -> Run:
        """Execute the plan on an input; returns the sealed run, whatever became of it.

        Raises InputError when the input does not fit the contract (no run is made then), StoreError when the
        record cannot be kept, and CancelledError after sealing the run as cancelled.
        """
        run, value = self._admit(plan, request)
        return await self._start(plan, request, run, value, history=None)

    async def replay(
        self, plan: Plan, run: Run, request: RunRequest, *, outputs: Mapping[str, Json], dry_run: bool = False
    ) -> Run:
        """Run a recorded run again under a change: another plan or components, another input, or fixed outputs.

        `outputs` maps step paths to outputs that stand in place of calls. Unchanged steps are taken from the record,
        writes are never performed. Raises ReplayError when `outputs` names a step that the run does not have.
        """
        recorded = {step.path: step for step in run.steps}
        unknown = sorted(set(outputs) - set(recorded))
        if unknown:
            raise ReplayError(f"run {run.id} has no step {unknown[0]!r}; it has: {', '.join(sorted(recorded))}")
        again, value = self._admit(plan, request)
        again.replay_of = run.id
        history = History(
            mode=Mode.REPLAY,
            run=run,
            steps=recorded,
            outputs={StepPath(path): orjson.dumps(output) for path, output in outputs.items()},
            changed=changed_components(run.manifest, plan.manifest),
            dry_run=dry_run,
        )
        return await self._start(plan, request, again, value, history=history)

    async def resume(self, plan: Plan, run: Run, history: History, journal: Journal) -> Run:
        """Go on with an interrupted or parked run under the manifest that it was pinned to, or refuse."""
        hold_to_manifest(run, plan.manifest)
        request = RunRequest(
            input=decoded(run.input),
            tenant=run.tenant,
            labels=run.labels,
            seed=run.seed,
            reference=decoded(run.reference),
            resources=decoded(run.resources) or {},
        )
        run.status, run.reason, run.error = None, None, None
        return await self._execute(plan, request, run, decoded(run.input), history, journal)

    # admission

    def _admit(self, plan: Plan, request: RunRequest) -> tuple[Run, JsonObject]:
        """Check the request and make the run's record; nothing has been kept yet."""
        check_request(request)
        encoded = _encoded(plan, "input", request.input)
        value = orjson.loads(encoded)
        if type(value) is not dict:
            found = Violation(pointer="", message=f"expected an object, found {type(value).__name__}")
            raise InputError(f"the input of workflow '{plan.name}'", [found])
        if plan.input_check is not None and not plan.input_check.is_valid(value):
            raise InputError(f"the input of workflow '{plan.name}'", plan.input_check.violations(value))
        run_id = new_run_id()
        input_digest = keyed_digest_of(self._input_key, canonical(encoded))
        run = Run(
            id=run_id,
            workflow_run_id=workflow_run_id(plan.name, plan.version, plan.manifest_digest, input_digest, run_id),
            manifest=plan.manifest,
            input=msgspec.Raw(encoded),
            input_digest=input_digest,
            started_at_ns=self._clock.time_ns(),
            tenant=request.tenant,
            labels=dict(request.labels),
            seed=self._jitter.getrandbits(SEED_BITS) if request.seed is None else request.seed,
            reference=_raw(plan, "reference", request.reference),
            memory=_raw(plan, "memory", request.memory),
            resources=_raw(plan, "resources", request.resources or None),
            parent=request.parent,
        )
        return run, value

    async def _start(
        self, plan: Plan, request: RunRequest, run: Run, value: JsonObject, *, history: History | None
    ) -> Run:
        journal = await self._recorder.open(run, plan.durability)
        return await self._execute(plan, request, run, value, history, journal)

    # execution

    async def _execute(
        self, plan: Plan, request: RunRequest, run: Run, value: JsonObject, history: History | None, journal: Journal
    ) -> Run:
        loop = asyncio.get_running_loop()
        now = _time_of(loop)
        began = now()
        watch = Watch(loop)
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
            resumed=history is not None and history.mode is Mode.RESUME,
        )
        reference = request.reference
        state = RunState(
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
            history=history,
        )
        if history is not None and history.mode is Mode.REPLAY and bytes(run.input) != bytes(history.run.input):
            state.tainted.add(INPUT)
        lane = Lane(watch.alarm(), Budget.start(request.budget or plan.budget, began))
        if history is not None and history.mode is Mode.RESUME:
            carry_on(state, history, lane.budget)
        try:
            await self._answer(state, request, value, lane)
        except asyncio.CancelledError:
            run.status, run.reason = RunStatus.CANCELLED, Reason.CANCELLED
            raise
        finally:
            watch.close()
            await _finish(state)
        return run

    def _elapsed_s(self, run: Run, history: History) -> float:
        """Seconds since the run was accepted: more than none when it is resumed."""
        return max(0, self._clock.time_ns() - run.started_at_ns) / 1e9 if history.mode is Mode.RESUME else 0.0

    async def _answer(self, state: RunState, request: RunRequest, value: JsonObject, lane: Lane) -> None:
        """Run the steps and read the output; the run's status says what became of it."""
        plan, run = state.plan, state.run
        frame: Frame = [None] * plan.slots
        frame[INPUT] = value
        frame[RESOURCES] = request.resources
        if plan.reads_run:
            frame[RUN] = _run_root(run)
        try:
            frame[MEMORY] = await _read_memory(state, request.memory, lane)
            await run_block(state, plan.body, frame, "", lane)
            _read_output(state, frame)
        except StepFailed as failure:
            run.status, run.reason, run.error = failure.status, failure.reason, failure.error


def _encoded(plan: Plan, what: str, value: object) -> bytes:
    """Part of a request as JSON; InputError where it is none, since nothing has been run."""
    try:
        return snapshot(value)
    except NotJsonError as error:
        violation = Violation(pointer=error.pointer, message=error.reason)
        raise InputError(f"the {what} of workflow '{plan.name}'", [violation]) from error


def _raw(plan: Plan, what: str, value: object) -> msgspec.Raw:
    return NULL if value is None else msgspec.Raw(_encoded(plan, what, value))


def _time_of(loop: asyncio.AbstractEventLoop) -> Callable[[], float]:
    """The loop's clock, without the call that asyncio's own loops put around it."""
    return time.monotonic if type(loop).time is asyncio.BaseEventLoop.time else loop.time


async def _read_memory(state: RunState, given: JsonObject | None, lane: Lane) -> JsonObject:
    """Values of the `memory` root: those given, those a recorded run saw, or those the memory component tells."""
    history, run = state.history, state.run
    if given is None and history is not None and history.run.memory != NULL:
        given = decoded(history.run.memory)
    if given is None and state.plan.memory is not None:
        given = await StepCall(state, state.plan.memory, {}, MEMORY_PATH, lane).run()
    if given is None:
        return {}
    run.memory = msgspec.Raw(snapshot(given))
    return given


def _read_output(state: RunState, frame: Frame) -> None:
    """Build the run's output and hold it to the contract."""
    plan, run = state.plan, state.run
    try:
        output = {name: get(frame) for name, get in plan.output}
        run.output = msgspec.Raw(snapshot(output))
        if plan.output_check is not None and not plan.output_check.is_valid(output):
            violations = plan.output_check.violations(output)
            raise ContractError(f"the output of workflow '{plan.name}' breaks its contract:", violations)
    except (ExpressionError, ContractError) as error:
        run.status, run.reason, run.error = RunStatus.FAILED, Reason.CONTRACT, error_info(error, "output")
        return
    run.status = RunStatus.OK if state.downgraded_by is None else RunStatus.DEGRADED
    run.reason = state.downgraded_by


async def _finish(state: RunState) -> None:
    """Close what the run holds and seal its record, also when it was cancelled."""
    run = state.run
    in_doubt = [effect.path for effect in state.receipts.values() if effect.in_doubt]
    if in_doubt:
        run.status, run.reason = RunStatus.PARKED, Reason.IN_DOUBT
        if run.error is None:
            message = f"a write was sent and not answered, and may have happened: {', '.join(in_doubt)}"
            run.error = ErrorInfo(
                code="component.in_doubt", rpc_code=Code.ABORTED.value, message=message, path=in_doubt[0]
            )
    if run.status is None:  # only when the engine or the store broke: the exception says more
        run.status, run.reason = RunStatus.FAILED, Reason.ERROR
    run.duration_ms = state.ms(state.now())
    run.rewards = _weighed(state)
    run.reward = total_reward(run.rewards) if run.succeeded else None
    run.simulated = any(step.simulated for step in run.steps)
    if state.tokens_in or state.tokens_out or state.cost:
        run.usage = Usage(input_tokens=state.tokens_in, output_tokens=state.tokens_out, cost=state.cost)
    try:
        if state.sessions.any_open:  # released even when the run is cancelled again meanwhile
            run.warnings = await asyncio.shield(asyncio.ensure_future(state.sessions.close()))
    finally:
        await state.journal.seal(run)  # queued before it first waits, so a cancellation here loses nothing


def _weighed(state: RunState) -> tuple[Reward, ...]:
    """The run's rewards with the contract's weights; a term that the contract names and no step gave is unknown."""
    weights = state.plan.reward_weights
    if not weights:
        return tuple(state.rewards)
    latest = {reward.name: reward for reward in state.rewards}
    named = [
        msgspec.structs.replace(latest[name], weight=weight)
        if name in latest
        else Reward(name=name, value=None, weight=weight, reason="no step gave it")
        for name, weight in weights.items()
    ]
    return (*named, *(msgspec.structs.replace(r, weight=0.0) for r in latest.values() if r.name not in weights))


def _run_root(run: Run) -> JsonObject:
    """What `run.*` reads."""
    labels: JsonObject = dict(run.labels)
    return {
        "id": run.id,
        "workflow_run_id": run.workflow_run_id,
        "tenant": run.tenant,
        "labels": labels,
        "seed": run.seed,
        "started_at_ms": run.started_at_ns // 1_000_000,
    }
