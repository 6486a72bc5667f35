"""Orders of data flows."""

import pytest
from hypothesis import given, strategies as st

from stretto.plan.order import Cycle, order_of


def test_a_chain_is_linear_and_keeps_only_the_edges_it_needs() -> None:
    order = order_of(3, {1: frozenset({0}), 2: frozenset({0, 1})})
    assert order.sequence == (0, 1, 2)
    assert order.linear
    assert order.indegree == (0, 1, 1)
    assert order.children == ((1,), (2,), ())


def test_independent_steps_keep_the_order_of_the_file_and_are_not_linear() -> None:
    order = order_of(3, {2: frozenset({0})})
    assert order.sequence == (0, 1, 2)
    assert not order.linear


def test_a_step_that_reads_a_later_one_comes_after_it() -> None:
    order = order_of(2, {0: frozenset({1})})
    assert order.sequence == (1, 0)
    assert order.children == ((1,), ())


@pytest.mark.parametrize(
    ("count", "before", "cycle"),
    [
        (1, {0: {0}}, (0, 0)),
        (3, {0: {2}, 1: {0}, 2: {1}}, (0, 2, 1, 0)),
    ],
)
def test_steps_that_wait_for_each_other_are_named_in_order(
    count: int, before: dict[int, set[int]], cycle: tuple[int, ...]
) -> None:
    with pytest.raises(Cycle) as caught:
        order_of(count, {index: frozenset(earlier) for index, earlier in before.items()})
    assert caught.value.indices == cycle


@given(
    st.integers(1, 12).flatmap(
        lambda n: st.tuples(st.just(n), st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))))
    )
)
def test_every_step_follows_what_it_waits_for(case: tuple[int, set[tuple[int, int]]]) -> None:
    count, pairs = case
    before = {index: frozenset(a for a, b in pairs if b == index and a < b) for index in range(count)}
    order = order_of(count, before)
    place = {index: position for position, index in enumerate(order.sequence)}
    assert sorted(order.sequence) == list(range(count))
    assert all(place[a] < place[index] for index in before for a in before[index])
    assert sum(order.indegree) == sum(len(each) for each in order.children)
