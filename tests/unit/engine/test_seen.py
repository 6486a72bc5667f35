"""What steps see of `resources` is recorded with them, and stands again in a replay and in a resumed run."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from stretto.engine.engine import Engine
from stretto.engine.history import History
from stretto.engine.request import RunRequest
from stretto.engine.seen import _over, picked
from stretto.plan.model import RESOURCES, Block, LoopOp, Plan
from stretto.record.model import Run, decoded
from stretto.testing import run_virtual
from stretto.types.enums import RunStatus, StepStatus
from stretto.types.json import JsonObject
from tests.unit.engine.books import killed
from tests.unit.engine.plans import Ledger, S, call, linear, plan, read, returning, step


class Counting:
    """A queue that is one longer each time somebody looks."""

    def __init__(self, start: int = 0) -> None:
        self.looks = start - 1  # a run looks once when it begins

    def read(self, given: JsonObject) -> JsonObject:
        self.looks += 1
        return {"queue": self.looks, "other": "x", **given}


QUEUE = frozenset({("queue",)})


def engine(live: Counting) -> Engine:
    made = Engine(Ledger())
    made.live = live
    return made


def ran(body: Block, live: Counting, **options: Any) -> Run:
    return run_virtual(engine(live).run(plan(body), RunRequest(input={}, **options)))


def again(recorded: Run, body: Plan, live: Counting) -> Run:
    request = RunRequest(input=decoded(recorded.input))
    return run_virtual(engine(live).replay(body, recorded, request, outputs={}))


def resumed(interrupted: Run, body: Plan, live: Counting) -> Run:
    return run_virtual(engine(live).resume(body, interrupted, History.resume(interrupted, {}), Ledger()))


def guarded(name: str, slot: int, least: int) -> Any:
    return call(
        returning(name, {"v": 1}),
        slot,
        {"queue": read(RESOURCES, "queue")},
        guard=lambda frame: frame[RESOURCES]["queue"] >= least,
        resources=QUEUE,
    )


def test_each_step_sees_what_is_now_and_what_it_read_is_in_its_record_alone() -> None:
    run = ran(linear(guarded("a", S, 1), guarded("b", S + 1, 9), guarded("c", S + 2, 1)), Counting())
    assert [record.evidence for record in run.steps] == [{"resources": {"queue": n}} for n in (1, 2, 3)]
    assert [record.status for record in run.steps] == [StepStatus.OK, StepStatus.SKIPPED, StepStatus.OK]


def test_a_replay_sees_what_the_run_saw_and_what_it_saw_last_where_that_is_not_told() -> None:
    body = plan(linear(guarded("a", S, 1), guarded("b", S + 1, 9), guarded("c", S + 2, 1)))
    recorded = ran(body.body, Counting())
    live = Counting(100)
    replayed = again(recorded, body, live)
    assert [record.status for record in replayed.steps] == [record.status for record in recorded.steps]
    assert live.looks == 99, "what is now is not asked"
    del recorded.steps[0]
    assert step(again(recorded, body, live), "a").evidence == {"resources": {"queue": 3}}


def test_a_resumed_run_decides_as_before_where_it_had_and_anew_where_not() -> None:
    body = plan(linear(guarded("a", S, 1), guarded("b", S + 1, 9), guarded("c", S + 2, 1)))
    whole = ran(body.body, Counting())
    live = Counting(100)
    run = resumed(killed(whole, steps=2), body, live)
    assert [record.status for record in run.steps] == [StepStatus.OK, StepStatus.SKIPPED, StepStatus.OK]
    assert step(run, "c").evidence == {"resources": {"queue": 101}}


def loop(least: int) -> tuple[Block, list[Any]]:
    inner = returning("inner", {"v": 1})
    op = LoopOp(
        name="loop",
        slot=S,
        body=linear(call(inner, S + 1)),
        carries=(),
        round_slot=S + 2,
        until=lambda frame: frame[RESOURCES]["queue"] >= least,
        until_source="",
        until_resources=QUEUE,
        max_rounds=5,
        results=(("inner", S + 1),),
    )
    return linear(op), inner.requests


def test_a_loop_asks_anew_after_each_round_and_a_replay_asks_its_record() -> None:
    body, _ = loop(3)
    run = ran(body, Counting())
    assert step(run, "loop").evidence == {"resources_by_round": [{"queue": 1}, {"queue": 2}, {"queue": 3}]}
    assert decoded(step(again(run, plan(body), Counting(100)), "loop").output)["rounds"] == 3


def test_a_resumed_loop_goes_on_where_it_had_gone_on() -> None:
    body, requests = loop(3)
    whole = ran(body, Counting())
    requests.clear()
    run = resumed(killed(whole, steps=2), plan(body), Counting(100))
    assert run.status is RunStatus.OK
    assert decoded(step(run, "loop").output)["rounds"] == 2, "of round 1 it is known that it was not the last"
    assert step(run, "loop").evidence == {"resources_by_round": [None, {"queue": 101}]}
    assert requests == []


def test_without_probes_nothing_is_looked_at_and_nothing_recorded() -> None:
    body = linear(guarded("a", S, 1))
    run = run_virtual(Engine(Ledger()).run(plan(body), RunRequest(input={}, resources={"queue": 4})))
    assert step(run, "a").evidence == {}


@pytest.mark.parametrize(
    ("reads", "expected"),
    [
        ({("a",)}, {"a": 1}),
        ({("b", "c")}, {"b": {"c": 2}}),
        ({("b", "c"), ("b", "d")}, {"b": {"c": 2, "d": [3]}}),
        ({("a",), ("no",)}, {"a": 1, "no": None}),
        ({("no", "where")}, {"no": None}),
        ({("b",), ("b", "no")}, {"b": {"c": 2, "d": [3]}}),
        ({()}, {"a": 1, "b": {"c": 2, "d": [3]}}),
    ],
)
def test_of_the_values_only_those_that_are_read_are_kept(reads: set[tuple[str, ...]], expected: dict[str, Any]) -> None:
    assert picked({"a": 1, "b": {"c": 2, "d": [3]}}, frozenset(reads)) == expected


NAMES = st.sampled_from(["a", "b", "c"])
VALUES = st.recursive(
    st.none() | st.integers(), lambda inner: st.dictionaries(NAMES, inner, max_size=3) | st.lists(inner, max_size=2)
)


@given(st.dictionaries(NAMES, VALUES), st.frozensets(st.lists(NAMES, max_size=3).map(tuple)))
def test_what_was_read_laid_over_the_values_changes_none_of_them_and_reads_the_same(
    values: dict[str, Any], reads: frozenset[tuple[str, ...]]
) -> None:
    kept = picked(values, reads)
    assert all(read_at(kept, path) == read_at(values, path) for path in reads)
    assert all(read_at(_over(values, kept), path) == read_at(values, path) for path in reads)
    assert picked(kept, reads) == kept


def read_at(values: Any, path: tuple[str, ...]) -> Any:
    for part in path:
        values = values.get(part) if isinstance(values, dict) else None
    return values
