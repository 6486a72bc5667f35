"""A request as the engine would send it, for tests that call a component directly."""

from collections.abc import Callable
from typing import Any

import pytest

from stretto.types.budget import Budget, Pool
from stretto.types.enums import Effect
from stretto.types.ids import RunId, StepPath
from stretto.types.json import Json
from stretto.types.messages import Call, Caller, Request, RunInfo

MakeRequest = Callable[..., Request]


@pytest.fixture
def make_request() -> MakeRequest:
    """`make_request(field=value, _run=...)`: a request with those fields; what begins with ``_`` is its envelope."""

    def make(
        *,
        _run: str = "run-1",
        _path: str = "step",
        _seed: int = 0,
        _tenant: str = "default",
        _labels: dict[str, str] | None = None,
        _reference: Json = None,
        _effect: Effect = Effect.READ,
        _action: str = "",
        _deadline: float | None = None,
        _caller: Caller | None = None,
        _attempt: int = 1,
        **fields: Any,
    ) -> Request:
        run = RunInfo(
            id=RunId(_run),
            workflow_run_id=f"wf@1.{_run}",
            workflow="wf",
            version="1",
            tenant=_tenant,
            labels=_labels or {},
            seed=_seed,
            reference=_reference,
        )
        budget = Budget(Pool(), None, None)
        return Request(fields, Call(run, StepPath(_path), _attempt, _action, _effect, _deadline, budget, _caller))

    return make
