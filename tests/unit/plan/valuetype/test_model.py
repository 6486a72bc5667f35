"""The lattice of JSON types."""

import pytest

from stretto.plan.valuetype import (
    BOOL,
    DYN,
    FLOAT,
    INT,
    NULL,
    STRING,
    Kind,
    Missing,
    ValueType,
    array_of,
    at,
    join,
    object_of,
    render,
)

ORDER = object_of({"id": STRING, "note": STRING}, optional=["note"])
OPEN = ValueType(kind=Kind.OBJECT, fields={"id": STRING}, required=frozenset({"id"}), rest=INT)


@pytest.mark.parametrize(
    ("container", "part", "expected"),
    [
        (DYN, "anything", DYN),
        (DYN, 3, DYN),
        (ORDER, "id", STRING),
        (ORDER, "note", STRING.or_null()),
        (ORDER.or_null(), "id", STRING.or_null()),
        (OPEN, "id", STRING),
        (OPEN, "other", INT.or_null()),
        (array_of(INT), 0, INT.or_null()),
        (array_of(DYN), 7, DYN),
    ],
)
def test_what_may_be_absent_reads_as_nullable(container: ValueType, part: str | int, expected: ValueType) -> None:
    assert at(container, part) == expected


@pytest.mark.parametrize(
    ("container", "part", "valid", "reason"),
    [
        (ORDER, "di", ("id", "note"), "has no field 'di'"),
        (ORDER, 0, ("id", "note"), "is an object, and is read by field name"),
        (array_of(INT), "length", (), "is an array, and is read by index, as in [0]"),
        (STRING, "length", (), "is a string, and has no fields"),
        (INT, 0, (), "is an integer, and has no fields"),
        (NULL, "x", (), "is null, and has no fields"),
    ],
)
def test_a_wrong_part_names_the_right_ones(
    container: ValueType, part: str | int, valid: tuple[str, ...], reason: str
) -> None:
    assert at(container, part) == Missing(valid=valid, reason=reason)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (INT, INT, INT),
        (INT, FLOAT, FLOAT),
        (INT, NULL, INT.or_null()),
        (NULL, NULL, NULL),
        (STRING, INT, DYN),
        (DYN, INT, DYN),
        (BOOL.or_null(), BOOL, BOOL.or_null()),
        (array_of(INT), array_of(FLOAT), array_of(FLOAT)),
        (array_of(INT), array_of(STRING), array_of(DYN)),
        (ORDER, object_of({"id": STRING}), object_of({"id": STRING, "note": STRING}, optional=["note"])),
        (object_of({"id": STRING}), object_of({"id": INT}), object_of({"id": DYN})),
    ],
)
def test_joining_keeps_every_value_of_both(one: ValueType, other: ValueType, expected: ValueType) -> None:
    assert join(one, other) == expected
    assert join(other, one) == expected


def test_a_field_of_one_object_is_dyn_where_the_other_may_hold_anything_under_its_name() -> None:
    unsealed = ValueType(kind=Kind.OBJECT, fields={"id": STRING}, required=frozenset({"id"}))
    assert join(unsealed, ORDER).fields["note"] == DYN


def test_joining_enums_keeps_the_values_of_both() -> None:
    one, other = (ValueType(kind=Kind.STRING, values=values) for values in (("a", "b"), ("b", "c")))
    assert join(one, other).values == ("a", "b", "c")
    assert join(one, STRING).values == ()


def test_adding_null_drops_the_constraints_that_null_may_break() -> None:
    one_or_two = ValueType(kind=Kind.INT, constraints=frozenset({("enum", "[1,2]"), ("minimum", "0")}))
    assert one_or_two.or_null().constraints == {("minimum", "0")}


@pytest.mark.parametrize(
    ("value_type", "text"),
    [
        (STRING, "string"),
        (STRING.or_null(), "string?"),
        (array_of(ORDER), "array[object]"),
        (array_of(INT.or_null()).or_null(), "array[integer?]?"),
        (FLOAT, "number"),
        (DYN, "any"),
        (NULL, "null"),
        (ValueType(kind=Kind.ARRAY), "array[any]"),
    ],
)
def test_types_are_written_short(value_type: ValueType, text: str) -> None:
    assert render(value_type) == text
