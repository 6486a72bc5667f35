"""What of a request is refused before anything is run: at the run's end it would cost the whole record."""

from datetime import timedelta
from typing import Any

import pytest

from stretto.engine.engine import Engine
from stretto.engine.request import RunRequest
from stretto.testing import run_virtual
from stretto.types.budget import BudgetSpec
from stretto.types.errors import InputError, UsageError
from tests.unit.engine.plans import Ledger, S, call, linear, plan, returning


def admit(**given: Any) -> Ledger:
    """Ask for a run whose one step records that it was called."""
    ledger = Ledger()
    probe = returning("probe", {})
    try:
        run_virtual(Engine(ledger).run(plan(linear(call(probe, S))), RunRequest(**{"input": {}, **given})))
    finally:
        assert given == {} or not probe.requests
    return ledger


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"seed": "a"}, r"seed is 'a'; expected an integer in \[-2\^63, 2\^63\)"),
        ({"seed": 2**63}, "seed is 9223372036854775808"),
        ({"seed": True}, "seed is True"),
        ({"tenant": None}, "tenant is None; expected text"),
        ({"tenant": "\ud800"}, "tenant is .* no text in UTF-8: surrogates not allowed"),
        ({"labels": ["task"]}, "labels is .*; expected a mapping of text to text"),
        ({"labels": {"task": 1}}, r"labels\['task'\] is 1; expected text"),
        ({"labels": {"task": "\udcff"}}, r"labels\['task'\] is .* no text in UTF-8"),
        ({"labels": {1: "a"}}, "a key of labels is 1; expected text"),
        ({"tracestate": "a=b\nX-Admin: yes"}, "tracestate is .*; expected W3C trace context, one line such as vendor"),
        ({"traceparent": "00-1-2-01\r\nX-Admin: yes"}, "traceparent is .*; expected W3C trace context, one line"),
        ({"baggage": {"a": None}}, r"baggage\['a'\] is None; expected text"),
        ({"memory": 3}, "memory is 3; expected a mapping of names to JSON values"),
        ({"resources": ["a"]}, "resources is .*; expected a mapping"),
        ({"budget": 3}, "budget is 3; expected a BudgetSpec"),
        ({"budget": BudgetSpec(deadline=30)}, r"budget\.deadline is 30; expected a timedelta"),  # type: ignore[arg-type]
        ({"budget": BudgetSpec(reserve=None)}, r"budget\.reserve is None; expected a timedelta"),  # type: ignore[arg-type]
        ({"budget": BudgetSpec(deadline=timedelta(-1))}, r"budget\.deadline is .*; expected a timedelta of 0 or more"),
        ({"budget": BudgetSpec(retries=-1)}, r"budget\.retries is -1; expected a whole number from 0"),
        ({"budget": BudgetSpec(tokens=1.5)}, r"budget\.tokens is 1\.5; expected a whole number"),  # type: ignore[arg-type]
        ({"budget": BudgetSpec(cost=float("inf"))}, r"budget\.cost is inf; expected a finite number"),
        ({"budget": BudgetSpec(cost=10**400)}, r"budget\.cost is 1000.*; expected a finite number"),
        ({"budget": BudgetSpec(reserve=timedelta(2))}, r"budget\.reserve is .*; expected less than the deadline"),
        (
            {"budget": BudgetSpec(deadline=timedelta(1), reserve=timedelta(1))},
            r"budget\.reserve is .*; expected less than the deadline, of which it is a part: 1 day",
        ),
        ({"budget": BudgetSpec(cost=float("nan"))}, r"budget\.cost is nan; expected a finite number"),
    ],
)
def test_what_no_record_could_hold_is_refused_at_the_door(given: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        admit(**given)


@pytest.mark.parametrize(
    ("given", "words", "pointer"),
    [
        ({"input": {"x": float("nan")}}, "the input of workflow", "/x"),
        ({"input": {"x": [2**63]}}, "lies outside", "/x/0"),
        ({"input": {"x": "\ud800"}}, "lone surrogate", "/x"),
        ({"reference": object()}, "the reference of workflow", ""),
        ({"memory": {"recent": float("inf")}}, "the memory of workflow", "/recent"),
        ({"resources": {"shop": {1}}}, "the resources of workflow", "/shop"),
    ],
)
def test_what_is_not_json_is_wrong_input_with_its_place(given: dict[str, Any], words: str, pointer: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        admit(**given)
    assert [violation.pointer for violation in caught.value.violations] == [pointer]
