"""One step's call, from its request to its record.

    request → stands in the record? → attempt → (in doubt? → ask) → retry → fallback → record

The order is fixed. A write's intent precedes its attempt; a retry spends from the run's budget and is not made
when it cannot end in time; the fallback may use the reserve, an ordinary attempt may not.
"""

import asyncio
from typing import Final

import msgspec
import orjson

from stretto.engine import effects
from stretto.engine.asking import ask
from stretto.engine.driven import driven
from stretto.engine.failure import Whose, error_info, reason_of, whose
from stretto.engine.history import Mode
from stretto.engine.nested import NestedCaller
from stretto.engine.protection import Entry, Protection
from stretto.engine.report import check_report, is_bare, kept_evidence, kept_model_calls, kept_rewards
from stretto.engine.state import Lane, RunState, StepFailed, milliseconds
from stretto.plan.model import CallOp, Fallback
from stretto.record.canonical import snapshot
from stretto.record.model import Attempt, StepRecord, decoded
from stretto.types.enums import Effect, Reason, RunStatus, StepStatus
from stretto.types.errors import (
    BreakerOpenError,
    BudgetError,
    Code,
    ComponentError,
    ContractError,
    InDoubtError,
    NotJsonError,
    ReplayError,
    ShedError,
    StoreError,
    StrettoError,
)
from stretto.types.ids import StepPath
from stretto.types.json import Json, JsonObject
from stretto.types.messages import Call, Request, Response, Usage

WITHHELD: Final = "retry_withheld"
"""Evidence of a step that was not tried again, though it declares it."""

ASKING_S: Final = 1e-4
"""What it takes to ask for a component's leave, at most: only what is longer was waiting."""


class StepCall:
    """The call of one component at one step path. Used once."""

    __slots__ = (
        "_action",
        "_attempts",
        "_data",
        "_effect",
        "_encoded",
        "_entry",
        "_held",
        "_is_bare",
        "_is_withheld",
        "_lane",
        "_op",
        "_path",
        "_response",
        "_started",
        "_state",
        "_waited_s",
        "simulated",
    )

    def __init__(
        self, state: RunState, op: CallOp, data: JsonObject, path: StepPath, lane: Lane, simulated: bool = False
    ) -> None:
        self._state = state
        self._op = op
        self._data = data
        self._path = path
        self._lane = lane
        self.simulated = simulated  # and what becomes so while it is made
        self._started = state.now()
        self._attempts: list[Attempt] | None = None
        self._waited_s = 0.0  # of the attempt at hand, until its component might be asked
        self._entry: Entry | None = None  # of the attempt at hand, where something protects the component
        self._held: frozenset[str] = frozenset()  # components in whose bulkheads the calls around this one hold a place
        self._response: Response | None = None
        self._is_bare = True
        self._is_withheld = False  # a retry that was declared, since the quota was used up
        self._encoded = b"null"
        self._action = op.action
        self._effect = op.effect
        if op.action_field:
            card = op.component.card
            self._action = card.action_of(data)
            self._effect = card.effect_of(self._action)

    async def run(self) -> JsonObject:
        """Make the call; returns the output that the step stands for, raises StepFailed when there is none."""
        try:
            self._encode_request()
            if self._state.history is not None or self._effect is Effect.WRITE:
                standing = self._standing()
                if standing is not None:
                    return standing
            protections = self._state.protections
            protection = protections.get(self._op.component_name) if protections else None
            is_plain = protection is None and self._effect is not Effect.WRITE and not self._lane.budget.limited
            number, began = 1, self._started
            while True:
                try:
                    request = Request(self._own_copy(number), self._envelope(number, self._deadline(began)))
                    if is_plain:  # as most are: `_attempt` without its coroutine
                        encoded, output = self._taken(await ask(self._state, self._op, self._lane, request))
                    elif protection is None:
                        encoded, output = await self._attempt(request)
                    else:
                        encoded, output = await self._protected(protection, request)
                except ComponentError as error:
                    await self._wait_for_next(number, began, error)
                    number, began = number + 1, self._state.now()
                else:
                    return self._succeed(encoded, output, began)
        except StoreError:
            raise
        except StrettoError as error:
            return await self._fall_back(error)
        except asyncio.CancelledError:
            self._keep(StepStatus.FAILED, b"null", reason=Reason.CANCELLED)
            raise

    # request

    def _encode_request(self) -> None:
        try:
            self._encoded = snapshot(self._data)
        except NotJsonError as error:
            raise ContractError(f"the request to '{self._name}' at step '{self._path}' is not JSON: {error}") from error
        check = self._op.input_check
        if check is not None and not check.is_valid(self._data):
            violations = check.violations(self._data)
            raise ContractError(f"the request to '{self._name}' at step '{self._path}' breaks its schema:", violations)

    def _own_copy(self, number: int) -> JsonObject:
        """The request as the component may keep and change it; nothing else holds the containers in it."""
        if number == 1:
            for value in self._data.values():
                if type(value) is dict or type(value) is list:
                    break
            else:
                return self._data
        return self._decoded_request()

    def _decoded_request(self) -> JsonObject:
        copy: JsonObject = orjson.loads(self._encoded)
        return copy

    @property
    def _name(self) -> str:
        return self._op.component_name

    # what stands already

    def _standing(self) -> JsonObject | None:
        """The output that the record holds for this very request, or None when the call must be made."""
        history = self._state.history
        if history is None or history.mode is Mode.RESUME:
            return self._made_already()
        substitute = history.outputs.get(self._path)
        if substitute is not None:
            self.simulated = True
            return self._succeed(substitute, self._held_to_schema(substitute), self._started)
        if self._effect is not Effect.WRITE:
            return self._take(history.recorded(self._path, self._name, self._encoded))
        return self._take_write()

    def _made_already(self) -> JsonObject | None:
        """What this run did here before it was interrupted, or in an earlier attempt of the step around this one."""
        history, effect = self._state.history, self._state.receipts.get(self._path)
        step = None if history is None else history.recorded(self._path, self._name, self._encoded)
        if step is not None:
            output: JsonObject = decoded(step.output)
            return output
        if effect is None or effect.receipt is None:
            return None
        receipt = effects.standing_receipt(effect, self._path, self._encoded)
        return self._succeed(receipt, self._held_to_schema(receipt), self._started)

    def _take(self, step: StepRecord | None) -> JsonObject | None:
        """Let a recorded step stand in a replay."""
        if step is None:
            self.simulated = self.simulated or self._name in self._state.stood_in
            return None
        state = self._state
        self.simulated = self.simulated or step.simulated
        state.rewards.extend(step.rewards)
        now = state.ms(state.now())
        state.keep(
            msgspec.structs.replace(
                step,
                reused_from=step.reused_from or state.run.replay_of,
                simulated=self.simulated,
                started_ms=now,
                ended_ms=now,
            )
        )
        output: JsonObject = decoded(step.output)
        return output

    def _take_write(self) -> JsonObject:
        """A replay's write: the recorded response for an equal request, a dry run, or the end of the replay."""
        state, history = self._state, self._state.history
        if history is None:
            raise RuntimeError("a replay has a history")
        state.stood_in.add(self._name)
        taken = self._take(history.recorded_write(self._path, self._encoded))
        if taken is not None:
            return taken
        if not history.dry_run:
            raise history.refuse_write(self._path)
        self.simulated = True
        self._keep(StepStatus.SKIPPED, b"null", evidence={"dry_run": True})
        return {}

    # attempt

    async def _protected(self, protection: Protection, request: Request) -> tuple[bytes, JsonObject]:
        """An attempt that waits until its component may be asked, and tells how it ended."""
        now = self._state.now
        began = now()
        if request.call.attempt == 1:
            protection.called(began)
        if self._effect is Effect.WRITE and effects.in_doubt_at(self._state, self._path):
            return await self._attempt(request)  # what is in doubt is settled before anything else
        if protection.bulkhead is not None and self._op.component_name in self._held:
            raise self._waits_for_itself()
        try:
            entry = await self._enter(protection, request.call.deadline)
        except BreakerOpenError:
            began = now()  # which refuses at once
            raise
        finally:
            waited_s = 0.0 if protection.bulkhead is None else now() - began
            self._waited_s = waited_s if waited_s > ASKING_S else 0.0
        self._entry = entry
        error: BaseException | None = None
        try:
            return await self._attempt(request)
        except BaseException as raised:
            error = raised
            raise
        finally:
            self._entry = None
            entry.leave(now(), error)

    def _waits_for_itself(self) -> ComponentError:
        return ComponentError(
            f"component '{self._name}' would wait for itself: a call of it that holds a place in its bulkhead led to "
            "this one; let it not call itself, or protect it by a breaker alone",
            Code.FAILED_PRECONDITION,
            sent=False,
        )

    async def _enter(self, protection: Protection, deadline: float | None) -> Entry:
        """Wait for the component's leave to be asked, until the deadline."""
        alarm, state = self._lane.alarm, self._state
        alarm.deadline = deadline
        try:
            return await driven(protection.enter(state.now, deadline, self._op), alarm)
        except asyncio.CancelledError as error:
            if whose(error, alarm) is not Whose.DEADLINE:
                raise
            raise protection.waited_too_long() from None
        finally:
            alarm.disarm()

    async def _attempt(self, request: Request) -> tuple[bytes, JsonObject]:
        """One attempt: the encoded and decoded output that its response stands for."""
        if self._lane.budget.limited:
            return await self._attempt_on_lease(request)
        if self._effect is Effect.WRITE:
            return await self._write(request)
        return self._taken(await self._ask(request))

    async def _ask(self, request: Request) -> Response:
        """Ask the component, and note for what protects it how that went."""
        entry, now = self._entry, self._state.now
        if entry is None:
            return await ask(self._state, self._op, self._lane, request)
        entry.begin(now())
        try:
            response = await ask(self._state, self._op, self._lane, request)
        except BaseException as error:
            entry.end(now(), error)
            raise
        entry.end(now(), None)
        return response

    async def _attempt_on_lease(self, request: Request) -> tuple[bytes, JsonObject]:
        """An attempt that sets tokens and cost aside; a lost response forfeits them."""
        op = self._op
        lease = self._lane.budget.lease(op.estimate_tokens, op.estimate_cost)
        self._response = None
        try:
            if self._effect is Effect.WRITE:
                return await self._write(request)
            return self._taken(await self._ask(request))
        finally:
            response: Response | None = self._response
            if response is None:
                lease.forfeit()
            else:
                usage = response.usage or Usage()
                lease.settle(usage.input_tokens + usage.output_tokens, usage.cost)

    async def _write(self, request: Request) -> tuple[bytes, JsonObject]:
        """An attempt at a write: what an earlier one left in doubt is settled first, then intent, call, receipt."""
        state, op, path = self._state, self._op, self._path
        earlier = state.receipts.get(path)
        if earlier is not None and earlier.in_doubt:
            happened = await effects.settle_earlier(state, op, earlier, self._encoded, request.call, self._lane)
            if happened is not None:
                answer = await self._receive(happened, confirmed=True)
                effects.standing_receipt(earlier, path, self._encoded)
                return answer
        is_sent_again = earlier is not None and earlier.in_doubt  # which is safe, and settles nothing if it is refused
        effect = await effects.intend(state, op, path, self._action, self._encoded)
        try:
            response = await self._ask(request)
        except ComponentError as error:
            return await self._doubt(request.call, error, is_sent_again=is_sent_again)
        try:
            return await self._receive(response)
        except ContractError as error:
            if not effect.in_doubt:
                raise
            return await self._doubt(request.call, effects.unkept(error))

    def _deadline(self, began: float) -> float | None:
        """When this attempt must have answered: the step's time-out from now, within the run's working time."""
        within = self._lane.budget.work_deadline
        timeout = self._op.timeout_s
        if within is None:
            return None if timeout is None else began + timeout
        if began >= within:
            raise BudgetError(f"the run's time was spent before step '{self._path}' could call '{self._name}'")
        return within if timeout is None or within - began <= timeout else began + timeout

    def _envelope(self, number: int, deadline: float | None) -> Call:
        state, op, lane = self._state, self._op, self._lane
        info = state.info_with_reference if op.sees_reference else state.info
        caller = NestedCaller(state, lane, self._path, self._call_inside) if op.calls_others else None
        return Call(info, self._path, number, self._action, self._effect, deadline, lane.budget, caller)

    async def _call_inside(self, op: CallOp, data: JsonObject, path: StepPath, lane: Lane) -> JsonObject:
        """A call that belongs to this one: its fallback's, or one that its component makes."""
        call = StepCall(self._state, op, data, path, lane, self.simulated)
        call._held = self._held  # another call of the same class
        if self._entry is not None and self._entry.holds_place:
            call._held |= {self._op.component_name}  # as above
        try:
            return await call.run()
        finally:
            self.simulated = self.simulated or call.simulated

    def _taken(self, response: Response) -> tuple[bytes, JsonObject]:
        """What a response stands for, held to its schema."""
        encoded = self._kept(response)
        self._check_report(response)
        return encoded, self._held_to_schema(encoded)

    async def _receive(self, response: Response, *, confirmed: bool = False) -> tuple[bytes, JsonObject]:
        """`_taken` for a write: the receipt is kept first, also of an answer that breaks its schema."""
        encoded = self._kept(response)
        effect = self._state.receipts.get(self._path)
        if effect is not None:
            await effects.receive(self._state, effect, encoded, confirmed=confirmed)
        self._check_report(response)
        return encoded, self._held_to_schema(encoded)

    def _check_report(self, response: Response) -> None:
        """Hold a response to what can be recorded; nothing of one that is refused is kept."""
        if self._is_bare:
            return
        try:
            check_report(self._name, response)
        except ContractError:
            self._response = None
            raise

    def _kept(self, response: Response) -> bytes:
        """Keep a response, its output encoded."""
        if not isinstance(response, Response):
            raise ContractError(f"component '{self._name}' returned {type(response).__name__}, not a Response")
        try:
            encoded = snapshot(response.output)
        except NotJsonError as error:
            raise ContractError(f"the output of '{self._name}' is not JSON: {error}") from error
        self._response = response
        self._is_bare = is_bare(response)
        return encoded

    def _held_to_schema(self, encoded: bytes) -> JsonObject:
        output: JsonObject = orjson.loads(encoded)
        if type(output) is not dict:
            raise ContractError(f"component '{self._name}' returned {type(output).__name__}, not an object")
        check = self._op.output_check
        if check is not None and not check.is_valid(output):
            raise ContractError(f"the output of '{self._name}' breaks its schema:", check.violations(output))
        return output

    # writes in doubt

    async def _doubt(
        self, call: Call, error: ComponentError, *, is_sent_again: bool = False
    ) -> tuple[bytes, JsonObject]:
        """A write failed: refused, or in doubt. Ends in its response if it happened, else raises."""
        effect = self._state.receipts[self._path]
        if is_sent_again or effects.may_have_happened(error):
            if self._op.component.card.idempotent:
                raise error
            happened = await effects.ask_whether_it_happened(self._op, effect, call, self._lane, error)
            if happened is not None:
                return await self._receive(happened, confirmed=True)
        await effects.refuse(self._state, effect)
        raise effects.did_not_happen(error)

    # retry

    async def _wait_for_next(self, number: int, began: float, error: ComponentError) -> None:
        """Record a failed attempt and wait for the next; raises the error when there is none."""
        state = self._state
        now = state.now()
        if self._attempts is None:
            self._attempts = []
        self._attempts.append(
            Attempt(
                started_ms=state.ms(began),
                queue_ms=milliseconds(self._waited_s),
                service_ms=milliseconds(max(0.0, now - began - self._waited_s)),
                error=error_info(error, self._path),
            )
        )
        if isinstance(error, ContractError | InDoubtError | BreakerOpenError) or self._lane.alarm.is_task_cancelled:
            raise error
        delay = self._op.retry.delay_s(number, error, state.jitter.random())
        within = self._lane.budget.work_deadline
        if delay is None or (within is not None and now + delay >= within) or not self._may_retry(now, error):
            raise error
        state.run.retries += 1
        if delay > 0:
            await asyncio.sleep(delay)

    def _may_retry(self, now: float, error: ComponentError) -> bool:
        """Take a retry from the component's quota and from the run's budget, if both have one left.

        What was shed never reached the component: trying again adds nothing to its load.
        """
        protection = self._state.protections.get(self._op.component_name)
        if protection is None or isinstance(error, ShedError):
            return self._lane.budget.take_retry()
        if not protection.take_retry(now):
            self._is_withheld = True
            return False
        if self._lane.budget.take_retry():
            return True
        protection.give_back_retry()
        return False

    # ends

    def _succeed(self, encoded: bytes, output: JsonObject, began: float) -> JsonObject:
        state = self._state
        if self._attempts is not None:
            self._attempts.append(self._last_attempt(began))
        self._keep(StepStatus.OK, encoded, began=began)
        response = self._response
        if response is not None and response.usage is not None:
            state.tokens_in += response.usage.input_tokens
            state.tokens_out += response.usage.output_tokens
            state.cost += response.usage.cost
        return output

    def _last_attempt(self, began: float) -> Attempt:
        state = self._state
        queue_ms = milliseconds(self._waited_s) + (self._response.queue_ms if self._response is not None else 0.0)
        spent_ms = milliseconds(state.now() - began)
        return Attempt(
            started_ms=state.ms(began), queue_ms=round(queue_ms, 3), service_ms=max(0.0, round(spent_ms - queue_ms, 3))
        )

    async def _fall_back(self, error: StrettoError) -> JsonObject:
        """Let the step's fallback answer; without one, or after a write in doubt, the step failed.

        Nothing answers for what failed because it was cancelled.
        """
        if self._lane.alarm.is_task_cancelled:
            self._keep(StepStatus.FAILED, b"null", error=error, reason=Reason.CANCELLED)
            self._state.run.error = error_info(error, self._path)
            raise asyncio.CancelledError from error
        fallback = self._op.fallback
        if not isinstance(error, InDoubtError) and effects.in_doubt_at(self._state, self._path):
            error = effects.over_doubt(self._path, error)
        reason = self._reason(error)
        if fallback is None or isinstance(error, InDoubtError | ReplayError):
            raise self._failed(error, reason)
        try:
            output = await self._ask_fallback(fallback)
        except StepFailed as second:
            raise self._failed(error, reason) from second
        self._keep(StepStatus.FALLBACK, snapshot(output), error=error, reason=reason)
        return output

    async def _ask_fallback(self, fallback: Fallback) -> JsonObject:
        if fallback.op is None:
            output: JsonObject = orjson.loads(fallback.output or b"{}")
            return output
        lane = Lane(self._lane.alarm, self._lane.budget.with_reserve())
        path = StepPath(f"{self._path}/fallback")
        data = self._decoded_request()
        return await self._call_inside(fallback.op, data, path, lane)

    def _reason(self, error: StrettoError) -> Reason:
        within = self._lane.budget.work_deadline
        reason = reason_of(error)
        if reason is Reason.TIMEOUT and within is not None and self._state.now() >= within:
            return Reason.BUDGET
        return reason

    def _failed(self, error: StrettoError, reason: Reason) -> StepFailed:
        self._keep(StepStatus.FAILED, b"null", error=error, reason=reason)
        status = RunStatus.FAILED
        if isinstance(error, InDoubtError):
            status = RunStatus.PARKED
        elif reason in (Reason.BUDGET, Reason.CONGESTION) and self._out_of_time():
            status = RunStatus.EXPIRED
        return StepFailed(error_info(error, self._path), reason, status, simulated=self.simulated)

    def _out_of_time(self) -> bool:
        within = self._lane.budget.work_deadline
        return within is not None and self._state.now() >= within

    def _keep(
        self,
        status: StepStatus,
        encoded: bytes,
        *,
        error: StrettoError | None = None,
        reason: Reason | None = None,
        evidence: dict[str, Json] | None = None,
        began: float | None = None,
    ) -> None:
        """Add this step to the record."""
        state = self._state
        zero, ended = state.started, state.now()
        record = StepRecord(
            path=self._path,
            status=status,
            component=self._op.component_name,
            action=self._action,
            effect=self._effect,
            reason=reason,
            started_ms=milliseconds(self._started - zero),
            ended_ms=milliseconds(ended - zero),
            input=msgspec.Raw(self._encoded),
            output=msgspec.Raw(encoded),
            simulated=self.simulated,
        )
        if began is not None:
            record.service_ms = milliseconds(ended - began - self._waited_s)
        if self._waited_s:
            record.queue_ms = milliseconds(self._waited_s)
        if error is not None:
            record.error = error_info(error, self._path)
        if self._attempts is not None:
            record.attempts = tuple(self._attempts)
        if evidence is not None:
            record.evidence = evidence
        elif self._is_withheld:
            record.evidence = {
                WITHHELD: f"the quota of component '{self._name}' is used up: retries are a part of its calls"
            }
        if self._response is not None and not self._is_bare:
            self._add_response(record, self._response)
        state.keep(record)

    def _add_response(self, record: StepRecord, response: Response) -> None:
        """Copy what a component reported beside its output."""
        if response.actions:
            record.actions = response.actions
        if response.model_calls:
            record.model_calls = kept_model_calls(response)
        if response.usage is not None:
            record.usage = response.usage
        if response.evidence:
            record.evidence = {**kept_evidence(response), **record.evidence}
        if response.queue_ms:
            record.queue_ms = round(record.queue_ms + response.queue_ms, 3)
            record.service_ms = max(0.0, round(record.service_ms - response.queue_ms, 3))
        if response.rewards:
            record.rewards = kept_rewards(response)
            if record.status is StepStatus.OK:
                self._state.rewards.extend(record.rewards)
