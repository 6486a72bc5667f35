import pytest
from hypothesis import given, strategies as st

from stretto.spec.suggest import MOST_LISTED, listed, nearest, slips

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


RESOURCES = tuple(
    f"{what}_{of}"
    for what in ("cpu_load", "memory_used", "disk_used")
    for of in ("percent", "bytes", "age", "peak", "ms")
)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("cpu_percent", "cpu_load_percent"), ("percent_cpu", "cpu_load_percent"), ("used_bytes", None), ("percent", None)],
)
def test_words_that_only_one_name_has_all_of_mean_it(name: str, meant: str | None) -> None:
    assert nearest(name, RESOURCES) == meant


def test_of_many_names_a_message_lists_those_that_have_a_word_of_the_wrong_one() -> None:
    assert listed(RESOURCES, "cpu_bytes") == (
        "cpu_load_percent, cpu_load_bytes, cpu_load_age, cpu_load_peak, cpu_load_ms, memory_used_bytes, "
        "disk_used_bytes, ... (15 in all)"
    )
    assert listed(RESOURCES, "zzz").count(",") == MOST_LISTED
    assert listed(KEYS, "zzz") == ", ".join(KEYS)
