"""What a condition makes sure of."""

import pytest
from hypothesis import given, strategies as st

from stretto.plan.guards import Guards
from stretto.plan.model import INPUT

WRITTEN = 5
"""The slot of a step."""


@pytest.mark.parametrize(
    ("condition", "reads", "path", "slots", "covered"),
    [
        ("steps.a.n > 3", {WRITTEN}, "steps.a.n", {WRITTEN}, True),
        ("steps.a.m > 3", {WRITTEN}, "steps.a.n", {WRITTEN}, True),  # the step ran, or its field would be null
        ("steps.b.n > 3", {6}, "steps.a.n", {WRITTEN}, False),
        ("steps.b.n > 3", {6}, "total", {WRITTEN, 6}, False),
        ("input.n > 3", {INPUT}, "input.n", {INPUT}, True),
        ("input.m > 3", {INPUT}, "input.n", {INPUT}, False),  # one root, many fields
    ],
)
def test_what_a_condition_asks_about_is_there(
    condition: str, reads: set[int], path: str, slots: set[int], covered: bool
) -> None:
    guards = Guards()
    with guards.under(condition, frozenset(reads)):
        assert guards.cover(path, frozenset(slots)) is covered


def test_outside_its_step_a_condition_says_nothing() -> None:
    guards = Guards()
    with pytest.raises(RuntimeError), guards.under("steps.a.n > 3", frozenset({WRITTEN})):
        raise RuntimeError
    assert not guards.cover("steps.a.n", frozenset({WRITTEN}))


parts = st.frozensets(st.sampled_from(["input.a", "input.b > 1", "!input.c", "input.d == 'x'"]), min_size=1)


@given(parts, st.lists(parts, max_size=3))
def test_a_step_ran_where_all_parts_of_its_condition_are_in_force(
    writer: frozenset[str], around: list[frozenset[str]]
) -> None:
    guards = Guards()
    guards.writes_under(WRITTEN, " && ".join(sorted(writer)))
    in_force = frozenset[str]().union(*around)
    assert _covered_inside(guards, around) is (writer <= in_force)


def _covered_inside(guards: Guards, around: list[frozenset[str]]) -> bool:
    """Whether the step's output is covered inside these conditions, each within the one before."""
    if not around:
        return guards.cover("steps.a.n", frozenset({WRITTEN}))
    with guards.under("  &&  ".join(sorted(around[0], reverse=True)), frozenset({INPUT})):
        return _covered_inside(guards, around[1:])


def test_of_a_path_with_several_writers_each_must_have_run() -> None:
    guards = Guards()
    guards.writes_under(WRITTEN, "input.a")
    guards.writes_under(6, "input.b")
    with guards.under("input.a", frozenset({INPUT})):
        assert guards.cover("total", frozenset({WRITTEN}))
        assert not guards.cover("total", frozenset({WRITTEN, 6}))
