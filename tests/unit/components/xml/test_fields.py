"""Text of a document as JSON values."""

import pytest
from hypothesis import given, strategies as st

from stretto.components.xml.fields import convert, missing_prefixes
from stretto.types.json import Json


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        (" 12 ", "integer", 12),
        ("+007", "integer", 7),
        ("-9223372036854775808", "integer", -(2**63)),
        ("1.5E3", "number", 1500.0),
        ("true", "boolean", True),
        ("1", "boolean", True),
        (" 0 ", "boolean", False),
        (" as it is ", "string", " as it is "),
        ("12", None, "12"),
    ],
)
def test_text_is_read_as_xml_schema_writes_it(text: str, kind: Json, value: Json) -> None:
    found = convert(text, kind)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1.5", "integer"),
        ("9223372036854775808", "integer"),
        ("1_000", "integer"),
        ("٣", "integer"),
        ("", "integer"),
        ("1_0", "number"),
        ("INF", "number"),
        ("nan", "number"),
        ("1,5", "number"),
        ("", "number"),
        ("yes", "boolean"),
        ("True", "boolean"),
    ],
)
def test_what_is_of_another_type_is_refused(text: str, kind: Json) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        convert(text, kind)


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_whole_number_comes_back(number: int) -> None:
    assert convert(str(number), "integer") == number


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_number_comes_back(number: float) -> None:
    assert convert(repr(number), "number") == number


@pytest.mark.parametrize(
    ("path", "missing"),
    [
        ("//a/b[@c='d:e']", []),
        ("//b:a/ancestor::c:d", ["b", "c"]),
        ("child::x/following-sibling::b:y", ["b"]),
        ("//k:a[@xml:lang='en']/@l:b", ["l"]),
        ('concat("m:n", b:x)', ["b"]),
    ],
)
def test_prefixes_that_nobody_declared_are_found(path: str, missing: list[str]) -> None:
    assert missing_prefixes(path, {"k": "urn:k"}) == missing
