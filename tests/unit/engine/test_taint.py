"""Marks on a frame: what of a replay stands downstream of a substitute."""

import pytest
from hypothesis import given, strategies as st

from stretto.engine.history import History, Mode
from stretto.engine.taint import Taint, marks, taint_of
from stretto.plan.model import INPUT, MEMORY, RESOURCES, RUN
from stretto.record.model import Run
from tests.unit.engine.plans import S, call, linear, returning, run

A, B, C = S, S + 1, S + 2

slots = st.frozensets(st.integers(0, 9))


@given(slots, slots)
def test_what_reads_a_marked_slot_stands_downstream(marked: frozenset[int], reads: frozenset[int]) -> None:
    assert Taint(marked).marks(reads) is bool(marked & reads)


def test_a_slot_that_is_written_again_has_the_mark_of_its_last_writer() -> None:
    taint = Taint([A])
    taint.put(A, False)
    taint.put(B, True)
    assert [taint.marks([slot]) for slot in (A, B)] == [False, True]


@pytest.mark.parametrize(("decided_by", "whole"), [((A,), True), ((B,), False), ((), False)])
def test_all_that_is_run_because_of_a_marked_slot_stands_downstream(decided_by: tuple[int, ...], whole: bool) -> None:
    assert Taint([A]).of_body(decided_by).marks([]) is whole
    assert Taint([A]).of_sub([], decided_by).marks([]) is whole
    taint = Taint([A])
    taint.decide(decided_by)
    assert taint.marks([]) is whole
    taint.decide(())
    assert taint.marks([]) is whole  # what hung on it once does so for good


def test_a_body_sees_the_marks_outside_and_keeps_its_own_to_itself() -> None:
    outer = Taint([A])
    body = outer.of_body()
    body.put(B, True)
    assert (body.marks([A]), body.marks([B])) == (True, True)
    assert not outer.marks([B])


@given(slots, slots)
def test_a_sub_workflow_shares_the_roots_but_its_input_is_what_it_is_given(
    marked: frozenset[int], inputs: frozenset[int]
) -> None:
    inner = Taint(marked).of_sub(inputs, ())
    assert inner.marks([INPUT]) is bool(marked & inputs)
    for root in (MEMORY, RESOURCES, RUN):
        assert inner.marks([root]) is (root in marked)
    assert not inner.marks(range(S, 10))  # its slots are its own, whatever the numbers mean outside


class TestBeginning:
    def recorded(self, value: int) -> Run:
        return run(linear(call(returning("a", {}), S)), {"v": value})

    @pytest.mark.parametrize(("value", "marked"), [(1, False), (2, True)])
    def test_a_replay_begins_with_a_mark_on_an_input_that_is_not_the_recorded_one(
        self, value: int, marked: bool
    ) -> None:
        recorded = self.recorded(1)
        taint = taint_of(History(mode=Mode.REPLAY, run=recorded, steps={}), self.recorded(value))
        assert taint is not None
        assert taint.marks([INPUT]) is marked
        assert not taint.marks([MEMORY])

    def test_what_is_no_replay_marks_nothing(self) -> None:
        recorded = self.recorded(1)
        assert taint_of(None, recorded) is None
        assert taint_of(History.resume(recorded, {}), recorded) is None
        assert not marks(None, [INPUT])
