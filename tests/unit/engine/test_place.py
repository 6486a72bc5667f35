"""Steps that call nothing themselves: what they read, and how they fail when it cannot be read."""

import pytest

from stretto.plan.model import Carry, Frame, LoopOp, SubOp
from stretto.record.model import decoded
from stretto.types.enums import Reason, RunStatus, StepStatus
from stretto.types.errors import ExpressionError
from stretto.types.json import Json
from tests.unit.engine.plans import S, call, each, linear, plan, read, returning, run, sleeping, step


def broken(_frame: Frame) -> Json:
    raise ExpressionError("`input.n / 0`: division by zero")


def loop(**fields: object) -> LoopOp:
    inner = call(returning("inner", {"v": 1}), S + 3)
    return LoopOp(
        **{  # type: ignore[arg-type]  # the fields differ from case to case
            "name": "holder", "slot": S, "body": linear(inner), "carries": (), "round_slot": S + 1, "until": None,
            "until_source": "", "max_rounds": 2, "results": (), **fields,
        }
    )  # fmt: skip


INNER = call(returning("inner", {"v": 1}), S + 3)


@pytest.mark.parametrize(
    ("op", "before"),
    [
        (each(INNER, name="holder", over=broken), []),
        (loop(carries=(Carry(name="n", slot=S + 2, start=broken, next=None),)), []),
        (loop(carries=(Carry(name="n", slot=S + 2, start=read(0), next=broken),)), ["holder[1]/inner"]),
        (loop(until=broken), ["holder[1]/inner"]),
        (SubOp(name="holder", slot=S, plan=plan(linear(INNER)), inputs=(("n", broken),)), []),
        (SubOp(name="holder", slot=S, plan=plan(linear(INNER), output={"n": broken}), inputs=()), ["holder/inner"]),
        (each(INNER, name="holder", guard=broken), []),
    ],
)
def test_an_expression_that_cannot_be_evaluated_fails_the_step_once(op: LoopOp, before: list[str]) -> None:
    result = run(linear(op), {"items": [1]})
    assert [record.path for record in result.steps] == [*before, "holder"]
    held = step(result, "holder")
    assert (result.status, held.status, held.reason) == (RunStatus.FAILED, StepStatus.FAILED, Reason.ERROR)
    assert held.error is not None
    assert (held.error.path, held.error.message) == ("holder", "`input.n / 0`: division by zero")
    assert decoded(held.output) is None


def test_its_times_are_those_of_all_that_it_holds() -> None:
    inner = call(sleeping("inner", 2.0), S + 3)
    result = run(linear(call(sleeping("first", 1.0), S + 4), loop(body=linear(inner))))
    held = step(result, "holder")
    assert (held.started_ms, held.ended_ms) == (1000.0, 5000.0)
