"""The values of a field in parts: every value is in one, and one of each part is found."""

from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from stretto.components.rules.values import OTHER_TEXT, Part, Sort, parts_of, words_of

decimals = st.decimals(min_value=-100, max_value=100, allow_nan=False, places=2)


def holds(part: Part, number: Decimal) -> bool:
    if part.is_point:
        return number == part.low
    return (part.low is None or part.low < number) and (part.high is None or number < part.high)


@given(st.sets(decimals, max_size=6), decimals)
def test_every_number_is_in_one_part_of_the_line(cuts: set[Decimal], number: Decimal) -> None:
    line = [part for part in parts_of([], cuts) if part.sort is Sort.NUMBER]
    assert sum(holds(part, number) for part in line) == 1


@given(st.sets(decimals, max_size=6))
def test_the_sample_of_a_part_is_in_it_and_whole_where_a_whole_number_is(cuts: set[Decimal]) -> None:
    for part in parts_of([], cuts):
        if part.sort is Sort.NUMBER:
            sample = Decimal(part.sample)
            assert holds(part, sample)
            if not part.is_point and any(holds(part, Decimal(whole)) for whole in range(-102, 103)):
                assert sample == sample.to_integral_value()


def test_the_text_that_stands_for_all_others_is_none_that_is_named() -> None:
    parts = parts_of([OTHER_TEXT, "a"], [])
    (other,) = [part for part in parts if part.sort is Sort.OTHER_TEXT]
    assert other.value not in (OTHER_TEXT, "a")


@pytest.mark.parametrize(
    ("chosen", "says"),
    [
        ("0 1 2 3 4", "any number"),
        ("0", "< 1"),
        ("0 1", "<= 1"),
        ("2", "(1..5)"),
        ("1 2 3", "[1..5]"),
        ("2 3", "(1..5]"),
        ("3 4", ">= 5"),
        ("0 4", "< 1 or > 5"),
        ("1 3", "1 or 5"),
    ],
)
def test_numbers_are_told_as_a_cell_would_have_them(chosen: str, says: str) -> None:
    line = [part for part in parts_of([], [Decimal(1), Decimal(5)]) if part.sort is Sort.NUMBER]
    assert words_of([line[int(index)] for index in chosen.split()]) == says
