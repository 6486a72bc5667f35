"""Which cells can be analysed, and what they compare with."""

from decimal import Decimal

import pytest

from stretto.components.rules.cells import constants_of


@pytest.mark.parametrize(
    ("cell", "texts", "numbers"),
    [
        ("> 5", "", "5"),
        ("-1", "", "-1"),
        ("[-5..-1.5]", "", "-5 -1.5"),
        ('"a", "b"', "a b", ""),
        ("'a'", "a", ""),
        ('not in ["a"]', "a", ""),
        ('["a", "b"]', "a b", ""),
        ("$ > 5 and ($ < 10)", "", "5 10"),
        ("> 5 or null", "", "5"),
        ("not true", "", ""),
        ('1, "a", [2..3]', "a", "1 2 3"),
        ('!= "a b"', "a b", ""),
    ],
)
def test_constants_are_where_an_answer_may_change(cell: str, texts: str, numbers: str) -> None:
    found = constants_of(cell)
    assert found is not None
    assert found.numbers == {Decimal(number) for number in numbers.split()}
    assert found.texts == ({texts} if texts == "a b" and cell.startswith("!=") else set(texts.split()))


@pytest.mark.parametrize(
    "cell",
    [
        "5 - 3",
        "5 -3",
        "> a",
        "len($)",
        "$[0]",
        "$.field",
        '["a", ["b"]]',
        '$ == ["a"]',
        '"a" in $',
        '"a"[0]',
        "1e3",
        "`a`",
        '"a\\"b"',
        "- -1",
    ],
)
def test_what_computes_or_looks_into_a_value_is_not_analysed(cell: str) -> None:
    assert constants_of(cell) is None
