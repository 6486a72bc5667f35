"""Values held against a JSON Schema."""

from typing import Any

import pytest

from stretto.plan.check import Check
from tests.unit.plan.flows import fields


def test_a_value_that_fits_has_no_violation() -> None:
    check = Check(fields(n="integer"))
    assert check.is_valid({"n": 1})
    assert check.violations({"n": 1}) == ()


@pytest.mark.parametrize(
    ("value", "pointers"),
    [
        ({"n": "x", "items": [1, "y", "z"]}, ["/items/1", "/items/2", "/n"]),
        ({"items": []}, [""]),
        ({"n": 1, "a/b": "x", "c~d": "y"}, ["/a~1b", "/c~0d"]),
    ],
)
def test_every_place_that_does_not_fit_is_named(value: Any, pointers: list[str]) -> None:
    number = {"type": "integer"}
    schema: Any = {
        "type": "object",
        "properties": {"n": number, "items": {"type": "array", "items": number}, "a/b": number, "c~d": number},
        "required": ["n"],
    }
    check = Check(schema)
    assert not check.is_valid(value)
    assert sorted(violation.pointer for violation in check.violations(value)) == pointers


def test_of_very_many_violations_enough_are_named() -> None:
    check = Check({"type": "array", "items": {"type": "integer"}})
    assert len(check.violations(["x"] * 1000)) == 20


def test_a_long_value_is_quoted_at_both_ends() -> None:
    (violation,) = Check({"type": "string", "maxLength": 3}).violations("a" + "x" * 10_000 + "z")
    assert len(violation.message) < 300
    assert violation.message.startswith('"ax')
    assert 'xz" is longer than 3 characters' in violation.message


@pytest.mark.parametrize(("day", "fits"), [("2026-11-29", True), ("2026-13-29", False)])
def test_formats_are_checked_too(day: str, fits: bool) -> None:
    check = Check({"type": "string", "format": "date"})
    assert check.is_valid(day) is fits
    assert (check.violations(day) == ()) is fits


def test_a_schema_that_lies_elsewhere_is_not_fetched() -> None:
    with pytest.raises(ValueError, match="Retrieval is disabled"):
        Check({"$ref": "http://127.0.0.1:1/schema.json"})
