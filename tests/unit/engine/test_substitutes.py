"""An output given in place of a call is one that could have come from it, and it stands, or the replay says why not."""

from typing import Any

import pytest

from stretto.engine.engine import Engine
from stretto.engine.request import RunRequest
from stretto.plan.model import Block, LoopOp, MapOp, Plan
from stretto.record.model import Run, decoded
from stretto.testing import run_virtual
from stretto.types.enums import RunStatus
from stretto.types.errors import InputError, ReplayError
from stretto.types.ids import MEMORY_PATH
from stretto.types.messages import Request
from tests.unit.engine.plans import Ledger, Probe, S, call, linear, plan, read, returning, run

NUMBER = {"type": "object", "properties": {"v": {"type": "integer"}}, "required": ["v"]}


def typed(name: str, value: int = 1) -> Probe:
    async def answer(_request: Request) -> object:
        return {"v": value}

    return Probe(name, answer, output=NUMBER)


def of(*probes: Probe, body: Block | None = None, **fields: Any) -> Plan:
    """A plan that knows its components, as a compiled one does."""
    ops = [call(probe, S + place) for place, probe in enumerate(probes)]
    return plan(body or linear(*ops), components={probe.card.name: probe for probe in probes}, **fields)


def replay(recorded: Run, again: Plan, outputs: dict[str, Any], **value: Any) -> Run:
    request = RunRequest(input=value or decoded(recorded.input))
    return run_virtual(Engine(Ledger()).replay(again, recorded, request, outputs=outputs))


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ({"v": "one"}, r'/v: "one" is not of type "integer"'),
        ({}, '"v" is a required property'),
        (3, '3 is not of type "object"'),
        (None, 'null is not of type "object"'),
        ({"v": float("nan")}, "/v: "),
        ({"v": object()}, "/v: a value of type object is not JSON"),
    ],
)
def test_an_output_that_the_component_could_not_have_given_is_refused(output: Any, says: str) -> None:
    a = typed("a")
    recorded = run(linear(call(a, S)))
    with pytest.raises(InputError, match="the output given for 'a', a call of 'a', does not fit") as caught:
        replay(recorded, of(a), {"a": output})
    assert says in str(caught.value)
    assert len(a.requests) == 1


def test_a_step_that_is_not_there_is_told_with_those_that_are() -> None:
    recorded = run(linear(call(typed("a"), S), call(typed("b"), S + 1)))
    with pytest.raises(ReplayError, match="has no step 'c'; it has: a, b"):
        replay(recorded, of(typed("a"), typed("b")), {"c": {"v": 1}})


def test_a_loop_calls_nothing_itself() -> None:
    body = linear(
        LoopOp(
            name="talk", slot=S, body=linear(call(typed("a"), S + 2)), carries=(), round_slot=S + 1, until=None,
            until_source="", max_rounds=2, results=(("a", S + 2),),
        )
    )  # fmt: skip
    recorded = run(body)
    with pytest.raises(ReplayError, match=r"'talk' calls nothing itself.*give those of the steps inside it"):
        replay(recorded, of(typed("a"), body=body), {"talk": {"last": {}}})
    again = replay(recorded, of(typed("a"), body=body), {"talk[2]/a": {"v": 5}})
    assert again.status is RunStatus.OK


def guarded(probe: Probe, reads: int = 0, field: str = "go") -> Block:
    """`first`, then a step that is made when the input, or what `first` said, has a true field."""
    first = returning("first", {"go": False})
    return linear(
        call(first, S), call(probe, S + 1, guard=read(reads, field), guard_source="go", reads=frozenset({reads}))
    )


def test_an_output_for_a_step_that_is_skipped_as_before_fails_the_replay() -> None:
    recorded = run(guarded(typed("a")), {"go": False})
    again = replay(recorded, of(body=guarded(typed("a"))), {"a": {"v": 1}})
    assert again.status is RunStatus.FAILED
    assert again.error is not None
    assert again.error.code == "replay"
    assert "the output given for 'a' stands nowhere: the step was skipped, and is again" in again.error.message
    assert decoded(again.output) is None


def test_it_stands_where_the_change_lets_the_step_through() -> None:
    recorded = run(guarded(typed("a")), {"go": False})
    again = replay(recorded, of(body=guarded(typed("a"))), {"a": {"v": 1}}, go=True)
    assert [decoded(step.output) for step in again.steps if step.path == "a"] == [{"v": 1}]
    assert again.status is RunStatus.OK


def test_a_step_that_the_change_itself_skips_needs_its_output_no_more() -> None:
    body = guarded(typed("a"), reads=S)
    recorded = run(guarded(typed("a")), {"go": True})
    again = replay(recorded, of(body=body), {"a": {"v": 1}})
    assert again.status is RunStatus.OK


def test_a_call_inside_a_step_that_stands_is_told_with_that_step() -> None:
    async def ask(request: Request) -> object:
        assert request.call.caller is not None
        return await request.call.caller.call("inner", {})

    outer, inner = Probe("outer", ask, capabilities=("call",)), typed("inner")
    nested = {"inner": call(inner, S + 1)}
    body = linear(call(outer, S, calls_others=True))
    recorded = run(body, nested=nested)
    again = replay(recorded, of(outer, body=body, nested=nested), {"outer/inner#1": {"v": 3}})
    assert again.error is not None
    assert "the answer of 'outer', which made this call, was taken from the record" in again.error.message


def test_what_the_memory_told_is_not_asked_again() -> None:
    memory = returning("memory", {"recent": []})
    body = linear(call(typed("a"), S))
    recorded = run(body, memory=call(memory, 1))
    again = replay(recorded, of(body=body, memory=call(memory, 1)), {MEMORY_PATH: {"recent": [1]}})
    assert again.error is not None
    assert "what the memory told is taken from the record" in again.error.message


def test_an_item_that_is_not_there_any_more_needs_its_output_no_more() -> None:
    body = linear(
        MapOp(
            name="each", slot=S, over=read(0, "items"), over_source="items", item_slot=S + 1, index_slot=S + 2,
            body=linear(call(typed("a"), S + 3)), max_parallel=1, null_on_error=False, result=read(S + 3),
        )
    )  # fmt: skip
    recorded = run(body, {"items": [1, 2]})
    again = replay(recorded, of(body=body), {"each[1]/a": {"v": 9}}, items=[1])
    assert again.status is RunStatus.OK
