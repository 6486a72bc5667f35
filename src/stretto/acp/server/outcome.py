"""What became of a component that was asked: an answer that may stand, or the error to tell."""

import asyncio
import math
from collections.abc import Callable
from typing import Final, Generic, TypeVar

import orjson

from stretto.acp import messages as m
from stretto.acp.names import Report, Verb
from stretto.acp.reported import NOTHING, Reported, reported_of
from stretto.acp.server.answer import Answer
from stretto.acp.server.served import Served
from stretto.acp.server.work import NeverBegunError
from stretto.record.canonical import snapshot
from stretto.record.report import check_report
from stretto.record.texts import log_raised, text_of
from stretto.types.errors import (
    NOTHING_HAPPENED,
    Code,
    ComponentError,
    ContractError,
    InDoubtError,
    NotJsonError,
    ShedError,
    StrettoError,
)
from stretto.types.json import JsonObject
from stretto.types.messages import Response, Usage
from stretto.types.waited import NeverBegun

T = TypeVar("T")

GRADIENT_HANDLE: Final = "gradient_handle"
"""Key in a response's evidence: by what the component finds this call again."""

RUN_ID: Final = "run_id"
"""Key in a response's evidence: the run that was made of the call, where a workflow answered."""

REPLAYED: Final = "replayed"
"""Key in a response's evidence: it is that of an earlier call, where the component itself remembers those."""

_NOTHING: Final = m.Result().usage
"""The default itself, which is left out where it is written."""

_ACTION: Final = "execute_action"
"""Key in a plan's output: what it wants done next."""


class Plain(Generic[T]):
    """Settles a work whose value is its outcome, whatever it is."""

    def __init__(self, served: Served, leave: Callable[[], object] = lambda: None) -> None:
        self._served = served
        self._leave = leave

    def answered(self, value: T, *, is_time_up: bool) -> T:
        self._leave()
        if is_time_up:
            raise too_late(self._served.card.name)
        return value

    def failed(self, error: BaseException, *, is_time_up: bool) -> T:
        self._leave()
        raise error_of(self._served, error, is_time_up=is_time_up) from error


def answer_of(served: Served, verb: Verb, response: Response, waited_ms: float, worked_ms: float) -> Answer:
    """The answer that a response stands for. Raises ContractError when it may not stand."""
    name = served.card.name
    if not isinstance(response, Response):
        raise ContractError(f"component '{name}' returned {type(response).__name__}, not a Response")
    output = _encoded(f"the output of '{name}'", response.output)
    if output[:1] != b"{":
        raise ContractError(f"component '{name}' returned no JSON object")
    check = served.output_check
    if check is not None and not check.is_valid(value := orjson.loads(output)):
        raise ContractError(f"the output of '{name}' breaks its schema:", check.violations(value))
    wanted = _wanted(orjson.loads(output)) if verb is Verb.PLAN else None
    result, handle = _result(served, response, waited_ms, worked_ms)
    reported = _reported(served, response)
    return Answer(result=result, output=output, execute_action=wanted, gradient_handle=handle, reported=reported)


def error_of(served: Served, error: BaseException, *, is_time_up: bool) -> StrettoError:
    """What to tell of a component that gave no response."""
    name = served.card.name
    if isinstance(error, ComponentError):
        return error
    if isinstance(error, asyncio.CancelledError):
        return _cancelled(name, error, is_time_up=is_time_up)
    if is_time_up and isinstance(error, TimeoutError | NeverBegunError):
        return too_late(name)
    log_raised(name, error)
    text = f"component '{name}' raised {type(error).__name__}: {text_of(error)}"
    if isinstance(error, StrettoError) or not isinstance(error, Exception):
        return ComponentError(text, Code.INTERNAL)
    if isinstance(error, TimeoutError):
        return ComponentError(text, Code.DEADLINE_EXCEEDED)
    return ComponentError(text, Code.UNAVAILABLE if isinstance(error, OSError) else Code.UNKNOWN)


def too_late(name: str) -> ComponentError:
    """The component had no more time."""
    return ComponentError(f"component '{name}' did not answer in the time that was left", Code.DEADLINE_EXCEEDED)


def may_have_happened(error: StrettoError) -> bool:
    """Whether a write that ended so is in doubt."""
    if not isinstance(error, ComponentError):
        return True
    return isinstance(error, InDoubtError) or (error.sent and error.rpc_code not in NOTHING_HAPPENED)


def _cancelled(name: str, error: asyncio.CancelledError, *, is_time_up: bool) -> ComponentError:
    never = error.__cause__
    if isinstance(never, NeverBegun):
        return ShedError(
            f"component '{name}' waited {never.queue_ms / 1000:.3g} s for {never.awaited} and was not asked: "
            f"{never.remedy}",
            queue_ms=never.queue_ms,
        )
    if is_time_up:
        return too_late(name)
    return ComponentError(f"the call of component '{name}' was cancelled", Code.CANCELLED)


def _encoded(what: str, value: object) -> bytes:
    try:
        return snapshot(value)
    except NotJsonError as error:
        raise ContractError(f"{what} is not JSON: {error}") from error


def _wanted(output: JsonObject) -> m.ExecuteAction | None:
    """The action that a plan's output names, where it names one as the protocol has it."""
    wanted = output.get(_ACTION)
    if not isinstance(wanted, dict):
        return None
    action, given = wanted.get("action"), wanted.get("input", {})
    if not isinstance(action, str) or not isinstance(given, dict):
        return None
    return m.ExecuteAction(action=action, input=given)


def _reported(served: Served, response: Response) -> Reported:
    """What goes along for learning, held to what a record may hold, whether or not it is withheld."""
    actions, calls = response.actions, response.model_calls
    if type(actions) is tuple and type(calls) is tuple and not actions and not calls:  # as of nearly all
        return NOTHING
    name, withheld = served.card.name, served.withheld
    check_report(name, response)
    told = () if Report.ACTIONS in withheld else actions, () if Report.MODEL_CALLS in withheld else calls
    return reported_of(name, *told) if any(told) else NOTHING


def _result(served: Served, response: Response, waited_ms: float, worked_ms: float) -> tuple[m.Result, str]:
    """What the response says of itself, and its gradient handle."""
    inside_ms = response.queue_ms
    if not isinstance(inside_ms, int | float) or not math.isfinite(inside_ms) or inside_ms < 0:
        raise ContractError(f"component '{served.card.name}' says that it queued for {inside_ms!r:.80} milliseconds")
    evidence = dict(response.evidence) if response.evidence else {}
    if evidence:
        evidence = orjson.loads(_encoded(f"the evidence of '{served.card.name}'", evidence))
    handle, run_id = evidence.get(GRADIENT_HANDLE), evidence.pop(RUN_ID, None)
    replayed = evidence.pop(REPLAYED, False) is True
    return m.Result(
        outcome=str(response.outcome),
        usage=_NOTHING if response.usage is None else _spent(served.card.name, response.usage),
        queue_ms=round(waited_ms + inside_ms, 3),
        service_ms=round(max(0.0, worked_ms - inside_ms), 3),
        evidence=evidence,
        component=served.ref,
        replayed=replayed,
        run_id=run_id if isinstance(run_id, str) else "",
    ), handle if isinstance(handle, str) else ""


def _spent(name: str, usage: Usage) -> m.Spent:
    tokens, cost = (usage.input_tokens, usage.output_tokens), usage.cost
    if not all(isinstance(each, int) and 0 <= each <= m.MAX_UINT32 for each in tokens):
        raise ContractError(f"component '{name}' reports {tokens!r:.80} tokens; expected whole numbers, 0 or more")
    if not isinstance(cost, int | float) or not math.isfinite(cost):
        raise ContractError(f"component '{name}' reports the cost {cost!r:.80}; expected a finite number")
    return m.Spent(input_tokens=tokens[0], output_tokens=tokens[1], cost=cost)
