"""A request as the engine would send it, for tests that call a component directly."""

from collections.abc import Mapping
from typing import Any

from stretto.types.budget import Budget, Pool
from stretto.types.enums import Effect
from stretto.types.ids import RunId, StepPath
from stretto.types.json import Json
from stretto.types.messages import Call, Caller, Request, RunInfo


def request_for(
    *,
    _run: str = "run-1",
    _path: str = "step",
    _attempt: int = 1,
    _seed: int = 0,
    _tenant: str = "default",
    _labels: Mapping[str, str] | None = None,
    _reference: Json = None,
    _traceparent: str = "",
    _tracestate: str = "",
    _effect: Effect = Effect.READ,
    _action: str = "",
    _deadline: float | None = None,
    _caller: Caller | None = None,
    **fields: Any,
) -> Request:
    """A request with these fields; what begins with ``_`` is its envelope, and without a limit unless it is given."""
    run = RunInfo(
        id=RunId(_run),
        workflow_run_id=f"workflow@1.{_run}",
        workflow="workflow",
        version="1",
        tenant=_tenant,
        labels=_labels or {},
        seed=_seed,
        reference=_reference,
        traceparent=_traceparent,
        tracestate=_tracestate,
    )
    budget = Budget(Pool(), None, None)
    return Request(fields, Call(run, StepPath(_path), _attempt, _action, _effect, _deadline, budget, _caller))
