"""One step's call, from its request to its record.

    request → stands in the record? → attempt → (in doubt? → ask) → retry → fallback → record

The order is fixed. A write's intent precedes its attempt; a retry spends from the run's budget and is not made
when it cannot end in time; the fallback may use the reserve, an ordinary attempt may not. Each chapter has a module:
`standing`, `attempt` (and `hedge`, which makes several), `retrying`, `recording`.
"""

import asyncio
from collections.abc import Coroutine
from typing import Final

import orjson

from stretto.engine import effects
from stretto.engine.answering import held, taken
from stretto.engine.asking import ask
from stretto.engine.attempt import attempt, protected
from stretto.engine.called import Called
from stretto.engine.failure import error_info, reason_of
from stretto.engine.hedge import after_s, hedged
from stretto.engine.meaning import cross_request
from stretto.engine.nested import NestedCaller
from stretto.engine.protection import Protection
from stretto.engine.recording import keep, succeed
from stretto.engine.retrying import hold_to_use, wait_for_next
from stretto.engine.standing import standing
from stretto.engine.state import Lane, StepFailed
from stretto.plan.model import CallOp, Fallback
from stretto.record.canonical import snapshot
from stretto.types.enums import Effect, Reason, RunStatus, StepStatus
from stretto.types.errors import (
    BudgetError,
    ComponentError,
    ContractError,
    InDoubtError,
    NotJsonError,
    ReplayError,
    StoreError,
    StrettoError,
)
from stretto.types.ids import StepPath
from stretto.types.json import JsonObject
from stretto.types.messages import Call, Request
from stretto.types.waited import Waited

_WRITE: Final = Effect.WRITE  # quicker, on each call


class StepCall(Called, eq=False):
    """The call of one component at one step path. Used once."""

    async def run(self) -> JsonObject:
        """Make the call; returns the output that the step stands for, raises StepFailed when there is none."""
        state, op = self.state, self.op
        if op.action_field:
            self.name_action()
        try:
            self._encode_request()
            if state.history is not None or self.effect is _WRITE:
                stands = standing(self)
                if stands is not None:
                    return stands
            protection = state.protections.get(op.component_name) if state.protections else None
            is_plain = protection is None and self.effect is not _WRITE and not self.lane.budget.limited
            if protection is not None:
                protection.called(self.started)
            number, began, waited_s = 1, self.started, 0.0
            while True:  # until there is an answer, or no more may be tried
                try:
                    request = Request(self.own_copy(number), self._envelope(number, self._deadline(began)))
                    if is_plain:  # as most are: `attempt` without its coroutine
                        encoded, output = taken(self, await ask(state, op, self.lane, request))
                    else:
                        encoded, output = await self._tried(protection, request)
                    if op.rejects is not None:
                        hold_to_use(self, output)
                except ComponentError as error:
                    number, waited_s = await wait_for_next(self, number, began, error, waited_s)
                    began = state.now()
                else:
                    return succeed(self, encoded, output, began)
        except StoreError:
            raise
        except StrettoError as error:
            return await self._fall_back(error)
        except asyncio.CancelledError as cancelled:
            if isinstance(cancelled.__cause__, Waited):
                self.waited_s += cancelled.__cause__.queue_ms / 1000.0
            keep(self, StepStatus.FAILED, b"null", reason=Reason.CANCELLED)
            raise

    def _tried(
        self, protection: Protection | None, request: Request
    ) -> Coroutine[object, object, tuple[bytes, JsonObject]]:
        """One attempt, or several side by side, with all that stands between the step and its component."""
        if protection is None:
            return attempt(self, request)
        hedge = self.op.hedge
        after = None if hedge is None else after_s(self, protection, hedge)
        if hedge is None or after is None:
            return protected(self, protection, request)
        return hedged(self, protection, request, wait_s=after, copies=hedge.copies)

    # request

    def _encode_request(self) -> None:
        crossed = cross_request(self) if self.op.crossings_in else None
        try:
            self.encoded = snapshot(self.data)
        except NotJsonError as error:
            raise ContractError(f"the request to '{self.name}' at step '{self.path}' is not JSON: {error}") from error
        if crossed is not None:
            crossed.hold(f"the request to '{self.name}' at step '{self.path}'")
        check = self.op.input_check
        if check is not None and not check.is_valid(self.data):
            violations = check.violations(self.data)
            raise ContractError(f"the request to '{self.name}' at step '{self.path}' breaks its schema:", violations)

    def _deadline(self, began: float) -> float | None:
        """When this attempt must have answered: the step's time-out from now, within the run's working time."""
        within = self.lane.budget.work_deadline
        timeout = self.op.timeout_s
        if within is None:
            return None if timeout is None else began + timeout
        if began >= within:
            raise BudgetError(
                f"no time was left for step '{self.path}' to call '{self.name}': the run's is spent, or that of the "
                "call around it"
            )
        return within if timeout is None or within - began <= timeout else began + timeout

    def _envelope(self, number: int, deadline: float | None) -> Call:
        state, op, lane = self.state, self.op, self.lane
        info = state.info_with_reference if op.sees_reference else state.info
        if not op.calls_others and number == 1 and not self.before:
            return Call(info, self.path, 1, self.action, self.effect, deadline, lane.budget)
        caller = None
        if op.calls_others:  # what it calls must have answered before itself must
            caller = NestedCaller(state, Lane(lane.alarm, lane.budget.by(deadline)), self.path, self._call_inside)
        before = self.before + number - 1
        return Call(info, self.path, number, self.action, self.effect, deadline, lane.budget, caller, before)

    async def _call_inside(self, op: CallOp, data: JsonObject, path: StepPath, lane: Lane) -> JsonObject:
        """A call that belongs to this one: its fallback's, or one that its component makes."""
        call = StepCall(self.state, op, data, path, lane, self.state.now(), op.action, op.effect, self.simulated)
        call.held = self.held
        call.before = self.before + (0 if self.attempts is None else len(self.attempts))
        if self.entry is not None and self.entry.holds_place:
            call.held |= {self.op.component_name}
        try:
            return await call.run()
        finally:
            self.simulated = self.simulated or call.simulated

    # ends

    async def _fall_back(self, error: StrettoError) -> JsonObject:
        """Let the step's fallback answer; without one, or after a write in doubt, the step failed.

        Nothing answers for what failed because it was cancelled.
        """
        if self.lane.alarm.is_task_cancelled:
            keep(self, StepStatus.FAILED, b"null", error=error, reason=Reason.CANCELLED)
            raise asyncio.CancelledError from error
        fallback = self.op.fallback
        error = effects.doubt_told(self.state, self.op, self.path, error)
        reason = self._reason(error)
        if fallback is None or isinstance(error, InDoubtError | ReplayError):
            raise self._failed(error, reason)
        try:
            output = await self._ask_fallback(fallback)
        except (StepFailed, ContractError) as second:
            raise self._failed(error, reason) from second
        except asyncio.CancelledError:
            keep(self, StepStatus.FAILED, b"null", error=error, reason=Reason.CANCELLED)
            raise
        keep(self, StepStatus.FALLBACK, snapshot(output), error=error, reason=reason)
        return output

    async def _ask_fallback(self, fallback: Fallback) -> JsonObject:
        if fallback.get is not None:
            return self._stand_in(fallback)
        if fallback.op is None:
            output: JsonObject = orjson.loads(fallback.output or b"{}")
            return output
        lane = Lane(self.lane.alarm, self.lane.budget.with_reserve())
        path = StepPath(f"{self.path}/fallback")
        return await self._call_inside(fallback.op, self.decoded_request(), path, lane)

    def _stand_in(self, fallback: Fallback) -> JsonObject:
        """What the fallback read from the run; noted and refused where it cannot stand for the step's output."""
        try:
            return held(self, snapshot(self.stand_in), fallback.crossings)[1]
        except ContractError as error:
            self.note("fallback_refused", f"`{fallback.source}` cannot stand in: {error}")
            raise

    def _reason(self, error: StrettoError) -> Reason:
        reason = reason_of(error)
        return Reason.BUDGET if reason is Reason.TIMEOUT and self._is_out_of_time() else reason

    def _failed(self, error: StrettoError, reason: Reason) -> StepFailed:
        keep(self, StepStatus.FAILED, b"null", error=error, reason=reason)
        status = RunStatus.FAILED
        if isinstance(error, InDoubtError):
            status = RunStatus.PARKED
        elif reason in (Reason.BUDGET, Reason.CONGESTION) and self._is_out_of_time():
            status = RunStatus.EXPIRED
        return StepFailed(error_info(error, self.path), reason, status, simulated=self.simulated)

    def _is_out_of_time(self) -> bool:
        within = self.lane.budget.work_deadline
        return within is not None and self.state.now() >= within
