"""A step's record: what it was asked, what it answered, how long that took and what was tried."""

from typing import Final

import msgspec

from stretto.engine.called import Called
from stretto.engine.failure import error_info
from stretto.engine.state import milliseconds
from stretto.record.model import Attempt, StepRecord
from stretto.record.report import kept_evidence, kept_model_calls, kept_rewards
from stretto.types.enums import Reason, StepStatus
from stretto.types.errors import Code, ComponentError, ContractError, RejectedError, StrettoError
from stretto.types.json import JsonObject
from stretto.types.messages import Response, Usage

_OK: Final = StepStatus.OK  # quicker, on each call


def succeed(called: Called, encoded: bytes, output: JsonObject, began: float) -> JsonObject:
    """Record that the step answered, in an attempt that began then; returns its output."""
    if called.attempts is not None:
        called.attempts.append(_last_attempt(called, began))
    if not called.is_bare:
        count_usage(called, called.response)
    keep(called, _OK, encoded, began=began)
    return output


def count_usage(called: Called, response: Response | None) -> None:
    """Add what an answer used, also one that was refused, to what its step and its run did."""
    usage = None if response is None else response.usage
    if usage is None:
        return
    state, used = called.state, called.used or Usage()
    state.tokens_in += usage.input_tokens
    state.tokens_out += usage.output_tokens
    state.cost += usage.cost
    called.used = Usage(
        input_tokens=used.input_tokens + usage.input_tokens,
        output_tokens=used.output_tokens + usage.output_tokens,
        cost=used.cost + usage.cost,
    )


def keep(
    called: Called,
    status: StepStatus,
    encoded: bytes,
    *,
    error: StrettoError | None = None,
    reason: Reason | None = None,
    began: float | None = None,
) -> None:
    """Add the step to the record of its run."""
    state = called.state
    zero, ended = state.started, state.now()
    record = StepRecord(
        path=called.path,
        status=status,
        component=called.op.component_name,
        action=called.action,
        effect=called.effect,
        reason=reason,
        started_ms=milliseconds(called.started - zero),
        ended_ms=milliseconds(ended - zero),
        input=msgspec.Raw(called.encoded),
        output=msgspec.Raw(encoded),
        simulated=called.simulated,
    )
    if began is not None:
        record.service_ms = milliseconds(ended - began - called.waited_s)
    if called.waited_s:
        record.queue_ms = milliseconds(called.waited_s)
    if error is not None:
        record.error = error_info(error, called.path)
    if called.attempts is not None:
        record.attempts = tuple(called.attempts)
    if called.evidence is not None:
        record.evidence = called.evidence
    if called.used is not None:
        record.usage = called.used
    if called.response is not None and not called.is_bare:
        _add_response(called, record, called.response)
    state.keep(record)


def note_failure(called: Called, began: float, error: ComponentError) -> None:
    """Record an attempt that failed; what was answered in it and refused is paid for.

    A time-out of one that waited longer than it was worked on came of load.
    """
    called.waited_s += error.take_wait_ms() / 1000.0
    if isinstance(error, ContractError | RejectedError):
        count_usage(called, called.response)
    failed = _last_attempt(called, began, error)
    if error.rpc_code is Code.DEADLINE_EXCEEDED and failed.queue_ms > failed.service_ms:
        error.of_load = True
    if called.attempts is None:
        called.attempts = []
    called.attempts.append(failed)


def _last_attempt(called: Called, began: float, error: ComponentError | None = None) -> Attempt:
    state = called.state
    queue_ms = milliseconds(called.waited_s) + (called.response.queue_ms if called.response is not None else 0.0)
    spent_ms = milliseconds(state.now() - began)
    return Attempt(
        started_ms=state.ms(began),
        queue_ms=round(queue_ms, 3),
        service_ms=max(0.0, round(spent_ms - queue_ms, 3)),
        error=None if error is None else error_info(error, called.path),
    )


def _add_response(called: Called, record: StepRecord, response: Response) -> None:
    """Copy what a component reported beside its output."""
    if response.actions:
        record.actions = response.actions
    if response.model_calls:
        record.model_calls = kept_model_calls(response)
    if response.evidence:
        record.evidence = {**kept_evidence(response), **record.evidence}
    if response.queue_ms:
        record.queue_ms = round(record.queue_ms + response.queue_ms, 3)
        record.service_ms = max(0.0, round(record.service_ms - response.queue_ms, 3))
    if response.rewards:
        record.rewards = kept_rewards(response)
        if record.status is StepStatus.OK:
            called.state.rewards.extend(record.rewards)
