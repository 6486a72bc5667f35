"""Messages of whatever fields: what is written comes back, and no bytes are worse than refused."""

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, strategies as st

from stretto.components.exec import Field, FieldType, Format, LineEnd, Message, Overpunch, read_picture
from stretto.components.exec.codecs import UnreadableError
from stretto.components.exec.forms import decoder_of, encoder_of
from stretto.types.errors import ContractError, MissingExtraError
from stretto.types.json import JsonObject

LETTERS = "abcXYZ 019-_,;\"'"

TEXTS = st.text(LETTERS, max_size=6).map(lambda text: f"{text.rstrip()}")

OF_FIELD: dict[str, tuple[Field, st.SearchStrategy[Any]]] = {
    "text": (Field(name="text", width=6), TEXTS),
    "right": (Field(name="right", width=6, justify="right", pad="*"), TEXTS),  # type: ignore[arg-type]  # as in a file
    "letters": (Field(name="letters", picture=read_picture("A(4)")), st.sampled_from(["", "ab", "abcd", "a b"])),
    "count": (Field(name="count", picture=read_picture("9(4)")), st.integers(0, 9999)),
    "signed": (Field(name="signed", picture=read_picture("S9(4)")), st.integers(-9999, 9999)),
    "apart": (
        Field(name="apart", picture=read_picture("S9(3) SIGN TRAILING SEPARATE")),
        st.integers(-999, 999),
    ),
    "money": (
        Field(name="money", picture=read_picture("S9(7)V99")),
        st.integers(-(10**9) + 1, 10**9 - 1).map(lambda n: f"{'-' if n < 0 else ''}{abs(n) // 100}.{abs(n) % 100:02d}"),
    ),
    "rate": (
        Field(name="rate", picture=read_picture("9V9(4)"), type=FieldType.NUMBER),
        st.integers(0, 99_999).map(lambda n: n / 10_000),
    ),
    "account": (
        Field(name="account", picture=read_picture("9(5)"), type=FieldType.STRING),
        st.integers(0, 99_999).map("{:05d}".format),
    ),
    "day": (Field(name="day", picture=read_picture("9(8)"), type=FieldType.DATE), st.dates().map(str)),
    "julian": (Field(name="julian", width=8, date="YYYY/DDD"), st.dates().map(str)),
    "tier": (Field(name="tier", width=1, values={"G": "gold", "S": "silver"}), st.sampled_from(["gold", "silver"])),
    "flag": (Field(name="flag", width=1, values={"Y": True, "N": False}), st.booleans()),
    "number": (Field(name="number", width=12, type=FieldType.INTEGER), st.integers(-(10**11) + 1, 10**12 - 1)),
    "name": (
        Field(name="name", width=9, fields=(Field(name="first", width=3), Field(name="last", offset=4, width=4))),
        st.fixed_dictionaries({"first": st.sampled_from(["", "Ada"]), "last": st.sampled_from(["", "Love"])}),
    ),
    "months": (
        Field(name="months", picture=read_picture("S9(3)"), occurs=3),
        st.lists(st.integers(-999, 999), min_size=3, max_size=3),
    ),
    "lines": (
        Field(
            name="lines",
            occurs=3,
            optional=True,
            fields=(Field(name="n", picture=read_picture("9(2)")), Field(constant="/"), Field(name="t", width=2)),
        ),
        st.lists(st.fixed_dictionaries({"n": st.integers(1, 99), "t": st.sampled_from(["", "ab"])}), max_size=3),
    ),
    "maybe": (Field(name="maybe", width=3, optional=True), st.none() | st.sampled_from(["a", "abc"])),
}
PACKED: dict[str, tuple[Field, st.SearchStrategy[Any]]] = {
    "packed": (Field(name="packed", picture=read_picture("S9(6) COMP-3")), st.integers(-(10**6) + 1, 10**6 - 1)),
    "plain": (Field(name="plain", picture=read_picture("9(3)V9(2) COMP-3")), st.just("123.45")),
}


@st.composite
def records(draw: st.DrawFn) -> tuple[Message, JsonObject]:
    """A fixed-width message of some fields, and a request that fits it."""
    known = {**OF_FIELD, **(PACKED if draw(st.booleans()) else {})}
    names = draw(st.lists(st.sampled_from(sorted(known)), min_size=1, unique=True))
    fields: list[Field] = []
    for name in names:
        fields += [Field(filler=draw(st.integers(1, 3)))] if draw(st.booleans()) else []
        fields += [Field(constant="#")] if draw(st.booleans()) else []
        fields.append(known[name][0])
    encoding = draw(st.sampled_from(["", "latin-1", "cp037", "cp273"]))
    line_ends = [LineEnd.NEL] if encoding.startswith("cp") else [LineEnd.LF, LineEnd.CRLF]
    message = Message(
        format=Format.FIXED,
        fields=tuple(fields),
        encoding=encoding,
        line_end=draw(st.sampled_from([None, LineEnd.NONE, *line_ends])),
        overpunch=draw(st.sampled_from(list(Overpunch))),
        rows=draw(st.sampled_from(["", "rows"])),
    )
    row = st.fixed_dictionaries({name: known[name][1] for name in names})
    return message, draw(st.fixed_dictionaries({"rows": st.lists(row, max_size=3)}) if message.rows else row)


@given(records())
def test_a_record_comes_back_as_it_was_written(drawn: tuple[Message, JsonObject]) -> None:
    message, request = drawn
    encoder, decoder = encoder_of(message), decoder_of(message)
    assert decoder.decode(encoder.encode(request)) == request
    jsonschema_rs.validate(dict(encoder.schema), request)
    jsonschema_rs.validate(dict(decoder.schema), request)


@given(records(), st.data())
def test_a_record_that_is_damaged_is_read_otherwise_or_refused(
    drawn: tuple[Message, JsonObject], data: st.DataObject
) -> None:
    message, request = drawn
    decoder = decoder_of(message)
    written = bytearray(encoder_of(message).encode(request))
    for _ in range(data.draw(st.integers(1, 3))):
        if written:
            at = data.draw(st.integers(0, len(written) - 1))
            written[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    _read(decoder, bytes(written))


MESSAGES = [
    Message(format=Format.JSON),
    Message(format=Format.CSV, rows="r", fields=(Field(name="a"), Field(name="n", type=FieldType.INTEGER))),
    Message(format=Format.CSV, rows="r"),
    Message(format=Format.CSV, header=False, fields=(Field(name="a"), Field(name="b", optional=True))),
    Message(format=Format.XML, fields=(Field(name="a"), Field(name="b", path="c/@d", optional=True))),
    Message(format=Format.XML, rows="r", each="c", fields=(Field(name="n", path=".", type=FieldType.NUMBER),)),
    Message(format=Format.TEXT),
    Message(format=Format.TEXT, fields=(Field(name="d", type=FieldType.DECIMAL),)),
    Message(format=Format.TEXT, pattern=r"(?P<a>\d+)\D(?P<b>.)?", fields=(Field(name="b", optional=True),)),
]

PIECES = [
    *(
        b"a,n\n",
        b"x,1\n",
        b'"',
        b"\r\n",
        b"\0",
        b"\xff",
        b"\xc3\xa4",
        b"{",
        b"}",
        b"[",
        b'"a":',
        b"1e999",
        b"null",
        b",",
    ),
    *(b"<a>", b"</a>", b"<c d='1'>", b"</c>", b"<r>", b"</r>", b"<!DOCTYPE r [", b"]>", b"&x;", b"<![CDATA[", b"<?xml"),
    *(b"12", b"-", b".5", b" ", b"\n", b"9" * 30, b"\xef\xbb\xbf"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join))
@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: f"{message.format}-{message.rows}{message.pattern}")
def test_whatever_a_program_writes_is_read_or_refused(message: Message, data: bytes) -> None:
    _read(decoder_of(message), data)


def _read(decoder: Any, data: bytes) -> None:
    """What is read fits the card; what is not is refused in words."""
    try:
        answer = decoder.decode(data)
    except UnreadableError as error:
        refused = str(error)
    else:
        jsonschema_rs.validate(dict(decoder.schema), answer)
        return
    assert refused


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)


@given(
    st.dictionaries(st.sampled_from([*OF_FIELD, *PACKED, "other", "a", "n", "b", "text", "r"]), JSON_VALUES, max_size=6)
)
@pytest.mark.parametrize(
    "message",
    [
        Message(
            format=Format.FIXED,
            overpunch=Overpunch.ASCII,
            fields=tuple(field for field, _ in OF_FIELD.values()),
        ),
        Message(format=Format.FIXED, encoding="cp037", fields=tuple(field for field, _ in PACKED.values())),
        *(m for m in MESSAGES if m.fields and not m.pattern and m.format is not Format.XML),
        Message(format=Format.XML, root="x", fields=(Field(name="a"), Field(name="n", type=FieldType.NUMBER))),
    ],
    ids=lambda message: f"{message.format}-{message.rows}{message.encoding}",
)
def test_whatever_is_asked_is_written_or_refused(message: Message, request_input: JsonObject) -> None:
    try:
        data = encoder_of(message).encode(request_input)
    except ContractError as error:
        refused = error
    else:
        assert isinstance(data, bytes)
        return
    assert (bool(refused.violations), refused.sent) == (True, False)


@pytest.mark.parametrize(
    ("module", "message", "extra"),
    [
        ("re2", Message(format=Format.TEXT, pattern="(?P<a>.)"), "exec"),
        ("lxml", Message(format=Format.XML, root="r", fields=(Field(name="a"),)), "xml"),
    ],
)
def test_a_package_that_is_missing_is_told_as_such(
    module: str, message: Message, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, module, None)
    monkeypatch.setattr("stretto.components.xml.parse.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError) as caught:
        decoder_of(message)
    assert caught.value.extra == extra


def test_groups_of_other_scripts_are_read() -> None:
    decoder = decoder_of(Message(format=Format.TEXT, rows="r", pattern=r"(?P<name>\pL+)=(?P<n>[0-9]+)"))
    assert decoder.decode("größe=1 東京=2 é=3".encode()) == {
        "r": [{"name": "größe", "n": "1"}, {"name": "東京", "n": "2"}, {"name": "é", "n": "3"}]
    }


def test_line_ends_may_be_said_where_records_hold_none() -> None:
    message = Message(format=Format.FIXED, line_end=LineEnd.NONE, fields=(Field(name="a", width=2),))
    assert encoder_of(message).encode({"a": "\n"}) == b"\n "
