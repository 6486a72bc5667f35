"""A degraded run has one reason, and the same whichever of its downgraded steps ended first."""

import random

import pytest

from stretto.engine.downgrade import downgrade_of
from stretto.plan.model import Fallback, LoopOp, MapOp, Plan, SubOp
from stretto.record.model import StepRecord
from stretto.types.enums import Reason, RunStatus, StepStatus
from stretto.types.errors import Code, ComponentError
from stretto.types.ids import StepPath
from tests.unit.engine.plans import S, call, failing, graph, linear, plan, read, returning, run, sleeping, step


def every_kind() -> Plan:
    """Steps `z`, `map` over `one` and `two`, `loop` over `turn`, `sub` over `inner`, in this order."""
    one, two, turn, inner = (
        linear(*(call(returning(name, {}), S + 9) for name in names))
        for names in (("z",), ("two", "one"), ("turn",), ("inner",))
    )
    mapped = MapOp(
        name="map", slot=S, over=read(0), over_source="", item_slot=S, index_slot=S, body=two, result=read(S),
        max_parallel=1,
    )  # fmt: skip
    loop = LoopOp(
        name="loop", slot=S, body=turn, carries=(), round_slot=S, until=None, until_source="", max_rounds=9, results=()
    )
    sub = SubOp(name="sub", slot=S, plan=plan(inner), inputs=())
    return plan(linear(*one.ops, mapped, loop, sub))


IN_ORDER = [
    "$memory",
    "z",
    "z/a#2",
    "z/a#10",
    "map",
    "map[0]/two",
    "map[0]/one",
    "map[2]/two",
    "map[10]/two",
    "loop[2]/turn",
    "loop[10]/turn",
    "sub",
    "sub/inner",
    "sub/inner/fallback",
]
"""Paths as the plan has them, and not by the alphabet."""


def downgraded(path: str, reason: Reason) -> StepRecord:
    return StepRecord(path=StepPath(path), status=StepStatus.FALLBACK, reason=reason)


@pytest.mark.parametrize("first", range(len(IN_ORDER)))
def test_the_reason_is_that_of_the_step_which_comes_first_in_the_plan(first: int) -> None:
    records = [downgraded(path, Reason.ERROR) for path in IN_ORDER[first + 1 :]]
    records.append(downgraded(IN_ORDER[first], Reason.TIMEOUT))
    random.Random(first).shuffle(records)
    assert downgrade_of(every_kind(), records) is Reason.TIMEOUT


def test_steps_that_answered_or_failed_give_no_reason() -> None:
    records = [StepRecord(path=StepPath("z"), status=status) for status in (StepStatus.OK, StepStatus.FAILED)]
    assert downgrade_of(every_kind(), records) is None


@pytest.mark.parametrize("seconds", [(1.0, 2.0), (2.0, 1.0)])
def test_which_branch_ends_first_does_not_matter(seconds: tuple[float, float]) -> None:
    late = call(sleeping("late", 60.0), S, timeout_s=seconds[0], fallback=Fallback(output=b"{}"))
    before = call(sleeping("before", seconds[1]), S + 1)
    broken = failing("broken", ComponentError("no", Code.INTERNAL))
    after = call(broken, S + 2, fallback=Fallback(output=b"{}"))
    result = run(graph([late, before, after], [(1, 2)]))
    assert (result.status, result.reason) == (RunStatus.DEGRADED, Reason.TIMEOUT)
    assert step(result, "broken").reason is Reason.ERROR
