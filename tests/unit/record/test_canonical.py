import dataclasses
import enum
import hashlib
import math
import struct
import subprocess
import sys
import tracemalloc
import uuid
from collections import OrderedDict
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, NamedTuple, TypedDict

import msgspec
import numpy as np
import orjson
import pydantic
import pytest
from hypothesis import given, strategies as st

from stretto.record.canonical import canonical, request_digest, snapshot
from stretto.record.refusal import MAX_DEPTH
from stretto.types.errors import NotJsonError

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@dataclasses.dataclass
class Reply:
    text: str
    score: float = 0.5


class Typed(TypedDict):
    text: str


class Tone(enum.StrEnum):
    CALM = "calm"


class Place(NamedTuple):
    x: int
    y: int


class Record(msgspec.Struct):
    text: str
    tone: Tone = Tone.CALM


class Model(pydantic.BaseModel):
    text: str
    at: datetime = datetime(2026, 1, 2, tzinfo=UTC)


class Name(str):
    __slots__ = ()


def in_objects(levels: int) -> object:
    """Lists and objects in turn, an even number of levels."""
    value: object = 1
    for _ in range(levels // 2):
        value = [{"a": value}]
    return value


def nested(levels: int) -> object:
    value: list[object] = []
    for _ in range(levels - 1):
        value = [value]
    return value


def same(left: object, right: object) -> bool:
    """Equal as JSON: a number written as 1 or as 1.0 is one double."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, float) and isinstance(right, int):
        return left == float(right)
    return left == right


def containing_itself() -> object:
    outer: dict[str, Any] = {"a": [{}]}
    outer["a"][0]["again"] = outer
    return {"x": outer}


# snapshot


@given(json_values)
def test_what_is_json_reads_back_as_it_was_given(value: object) -> None:
    assert orjson.loads(snapshot(value)) == value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Reply("hi"), {"text": "hi", "score": 0.5}),
        (Typed(text="hi"), {"text": "hi"}),
        (Record(text="hi"), {"text": "hi", "tone": "calm"}),
        (Model(text="hi"), {"text": "hi", "at": "2026-01-02T00:00:00Z"}),
        ({"tone": Tone.CALM, Tone.CALM: 1}, {"tone": "calm", "calm": 1}),
        ({Name("name"): Name("x")}, {"name": "x"}),
        (Place(1, 2), [1, 2]),
        (OrderedDict(a=1), {"a": 1}),
        (MappingProxyType({"a": (1, 2)}), {"a": [1, 2]}),
        ({"a": np.float64(0.5), "b": np.int64(3), "c": np.bool_(True)}, {"a": 0.5, "b": 3, "c": True}),
        ({"a": np.arange(6).reshape(2, 3).T}, {"a": [[0, 3], [1, 4], [2, 5]]}),
        ({"a": 2**63 - 1, "b": -(2**63)}, {"a": 2**63 - 1, "b": -(2**63)}),
        ({"id": uuid.UUID(int=1)}, {"id": "00000000-0000-0000-0000-000000000001"}),
        ({"a": [Reply("x"), None], "b": {"c": Record(text="y")}}, None),
        (nested(MAX_DEPTH), None),
        ([[None]] * 500, None),
        ([[None]] * 5000, None),
        (["{[" * 5000], ["{[" * 5000]),
        ({"long": "x" * 9000, "deep": nested(MAX_DEPTH - 1)}, None),
    ],
)
def test_python_values_become_json(value: object, expected: object) -> None:
    data = snapshot(value)
    if expected is not None:
        assert orjson.loads(data) == expected


@pytest.mark.parametrize(
    ("value", "pointer", "words"),
    [
        ({"a": [1, math.nan]}, "/a/1", "nan is not JSON; use null"),
        ({"a": math.inf, "b": None}, "/a", "inf"),
        ({"a": np.float64("nan"), "b": [None]}, "/a", "nan"),
        ({"a": np.array([1.0, -np.inf])}, "/a/1", "-inf"),
        (Reply("x", math.nan), "/score", "nan"),
        ({"m": [Record(text="x"), {"q": {"z": math.nan}}]}, "/m/1/q/z", "nan"),
        ({"n": {"big": 2**63}}, "/n/big", r"9223372036854775808 lies outside \[-2\^63, 2\^63\); write it as a string"),
        ({"n": -(2**63) - 1}, "/n", "lies outside"),
        ({"n": np.uint64(2**63)}, "/n", "lies outside"),
        ({"n": 10**400}, "/n", "an integer of 1329 bits"),
        ({"t": "ab\ud800"}, "/t", r"lone surrogate U\+D800 at character 2"),
        ({"\udfff": 1}, "", r"a key holds the lone surrogate U\+DFFF"),
        ({1: 2}, "", "the key 1 is not text but int"),
        ({"a": {None: 2}}, "/a", "the key None is not text but NoneType"),
        ({"a/b": {"~": b"x"}}, "/a~1b/~0", "bytes is not JSON; encode it as text"),
        ({"a": {1, 2}}, "/a", "set is not JSON; make it a list"),
        ({"a": [object()]}, "/a/0", "object is not JSON; return plain values"),
        (nested(MAX_DEPTH + 1), "", "more than 200 levels deep"),
        (nested(10_000), "", "more than 200 levels deep"),
        ({"deep": [nested(250)] * 3}, "", "more than 200 levels deep"),
        ({"long": "x" * 9000, "deep": nested(MAX_DEPTH)}, "", "more than 200 levels deep"),
        ({"long": "x" * 9000, "deep": in_objects(MAX_DEPTH)}, "", "more than 200"),
        (containing_itself(), "/x/a/0/again", "contains itself"),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(value: object, pointer: str, words: str) -> None:
    with pytest.raises(NotJsonError, match=words) as caught:
        snapshot(value)
    assert caught.value.pointer == pointer


def test_a_value_over_the_limit_is_refused_with_both_sizes() -> None:
    with pytest.raises(NotJsonError, match=r"52 bytes of JSON and the limit is 50; pass a reference"):
        snapshot("x" * 50, limit_bytes=50)


def test_a_model_that_cannot_write_itself_is_named() -> None:
    class Broken(pydantic.BaseModel):
        @pydantic.model_serializer
        def fail(self) -> dict[str, str]:
            raise KeyError("nothing here")

    with pytest.raises(NotJsonError, match=r"could not be turned into JSON: .*nothing here"):
        snapshot({"a": Broken()})


# canonical: vectors of RFC 8785


def test_canonical_writes_the_example_of_the_rfc() -> None:
    text = (
        rb'{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],'
        rb'"string": "\u20ac$\u000F\u000aA' + rb"'" + rb'\u0042\u0022\u005c\\\"\/",'
        rb'"literals": [null, true, false]}'
    )
    assert canonical(text).decode() == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


def test_canonical_orders_keys_by_utf16_code_units() -> None:
    names = {
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\U0001f600": "Emoji: Grinning Face",
        "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis",
    }
    in_order = list(orjson.loads(canonical({"outer": [names]}))["outer"][0].values())
    assert in_order == [names[key] for key in ("\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33")]


@pytest.mark.parametrize(
    ("bits", "expected"),
    [
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("8000000000000001", "-5e-324"),
        ("7fefffffffffffff", "1.7976931348623157e+308"),
        ("ffefffffffffffff", "-1.7976931348623157e+308"),
        ("4340000000000000", "9007199254740992"),
        ("c340000000000000", "-9007199254740992"),
        ("4430000000000000", "295147905179352830000"),
        ("44b52d02c7e14af5", "9.999999999999997e+22"),
        ("44b52d02c7e14af6", "1e+23"),
        ("44b52d02c7e14af7", "1.0000000000000001e+23"),
        ("444b1ae4d6e2ef4e", "999999999999999700000"),
        ("444b1ae4d6e2ef4f", "999999999999999900000"),
        ("444b1ae4d6e2ef50", "1e+21"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("41b3de4355555553", "333333333.3333332"),
        ("41b3de4355555554", "333333333.33333325"),
        ("41b3de4355555555", "333333333.3333333"),
        ("41b3de4355555556", "333333333.3333334"),
        ("41b3de4355555557", "333333333.33333343"),
        ("becbf647612f3696", "-0.0000033333333333333333"),
        ("43143ff3c1cb0959", "1424953923781206.2"),
    ],
)
def test_canonical_writes_numbers_as_ecmascript_does(bits: str, expected: str) -> None:
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical(number).decode() == expected


def test_canonical_escapes_what_the_rfc_escapes_and_nothing_else() -> None:
    short = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}
    for code in [*range(0xD800), *range(0xE000, 0x11000)]:
        expected = short.get(code) or (f"\\u{code:04x}" if code < 0x20 else chr(code))
        assert canonical(chr(code)).decode() == f'"{expected}"'


def test_canonical_keeps_every_digit_of_64_bit_integers() -> None:
    assert canonical({"order": 9007199254740993}) == b'{"order":9007199254740993}'
    assert canonical(b"[-9223372036854775808, 18446744073709551615]") == b"[-9223372036854775808,18446744073709551615]"


@given(json_values)
def test_canonical_form_is_its_own_canonical_form_and_means_the_same(value: object) -> None:
    once = canonical(value)
    assert canonical(once) == once
    assert canonical(snapshot(value)) == once
    assert same(value, orjson.loads(once))


@given(st.dictionaries(st.text(), st.integers(0, 9)))
def test_digest_does_not_depend_on_the_order_of_keys(value: dict[str, int]) -> None:
    backwards = dict(reversed(value.items()))
    assert request_digest(value) == request_digest(snapshot(backwards))


def test_the_digest_is_sha256_of_the_canonical_form() -> None:
    digest = hashlib.sha256(b'{"a":1}').hexdigest()
    assert request_digest({"a": 1.0}) == digest
    assert request_digest(msgspec.Raw(b'{ "a": 1 }')) == digest


@pytest.mark.parametrize("text", [b"", b"{", b"nan", b"[1e999]", b'{"a":1}x', b"[" * 100_000])
def test_text_that_is_not_json_has_no_canonical_form(text: bytes) -> None:
    with pytest.raises(NotJsonError, match="no canonical form"):
        canonical(text)


def test_encoding_plain_values_imports_no_numpy() -> None:
    code = (
        "import sys, msgspec; from stretto.record.canonical import snapshot\n"
        "class S(msgspec.Struct): x: int\n"
        "snapshot({'a': S(x=1), 'b': (1, None)}); sys.exit('numpy' in sys.modules or 'pydantic' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_snapshot_holds_no_more_memory_than_its_bytes() -> None:
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        kept = [snapshot({"x": number}) for number in range(100)]
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (after - before) / len(kept) < 200


def test_a_data_class_is_written_with_all_its_fields_and_a_model_by_its_aliases() -> None:
    @dataclasses.dataclass
    class Counted:
        text: str
        count: int = dataclasses.field(init=False, default=3)  # held by the class alone
        _mark: str = "m"

    class Aliased(pydantic.BaseModel):
        order_id: str = pydantic.Field(alias="orderId")

    value = [Counted("a"), {"in": Counted("b")}, Aliased(orderId="x"), 2**60]
    assert orjson.loads(snapshot(value)) == [
        {"text": "a", "count": 3, "_mark": "m"},
        {"in": {"text": "b", "count": 3, "_mark": "m"}},
        {"orderId": "x"},
        2**60,
    ]
