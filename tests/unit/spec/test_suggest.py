import pytest
from hypothesis import given, strategies as st

from stretto.spec.suggest import nearest, slips

KEYS = ("name", "component", "condition", "input_mapping", "output_mapping", "needs", "for_each", "max_rounds")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("componnet", "component"),
        ("Component", "component"),
        ("input-mapping", "input_mapping"),
        ("max rounds", "max_rounds"),
        ("nmae", "name"),
        ("nam", "name"),
        ("output", "output_mapping"),
        ("inputmapping", "input_mapping"),
        ("zzz", None),
        ("executor", None),
        ("a", None),
        ("", None),
        ("co", None),
    ],
)
def test_the_nearest_name_is_given_only_when_it_is_near(name: str, meant: str | None) -> None:
    assert nearest(name, KEYS) == meant


def test_nothing_is_near_to_nothing() -> None:
    assert nearest("name", []) is None


def test_equal_distances_go_to_the_first() -> None:
    assert nearest("plan_x", ["plan_b", "plan_a"]) == "plan_b"


def test_neighbours_that_changed_places_are_one_slip() -> None:
    assert slips("palnner", "planner", 9) == 1


@given(st.text("abc", max_size=6), st.text("abc", max_size=6), st.integers(1, 7))
def test_the_limit_only_caps_the_distance(a: str, b: str, limit: int) -> None:
    assert slips(a, b, limit) == min(limit, slips(a, b, 99))
    assert slips(a, b, limit) == slips(b, a, limit)


@given(st.text("abcd_", min_size=3, max_size=12))
def test_a_name_is_its_own_nearest(name: str) -> None:
    assert nearest(name, ["unrelated", name]) == name
