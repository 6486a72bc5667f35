"""The keys of `request` and `response` of a program."""

from typing import Any, Final

from stretto.components.exec.field_keys import FIELDS
from stretto.components.exec.message import Format, LineEnd, Message
from stretto.components.exec.shapes import CharShape
from stretto.components.exec.zoned import Overpunch
from stretto.components.option_shapes import ANY_TEXT
from stretto.components.xml.namespaces import NAMESPACES_BY_PREFIX
from stretto.spec.fields import SchemaShape
from stretto.spec.records import Fields, Key, Record
from stretto.spec.shapes import Choice, Flag, Text, Whole
from stretto.spec.texts import FIELD

FORMAT: Final = Key(
    "format", Choice(Format), means="how it is laid out", example="format: fixed", required=True, also=("type",)
)
SCHEMA: Final = Key(
    "schema",
    SchemaShape(),
    means="of JSON: its fields, as in a contract; any object when absent",
    example="schema: { age: int }",
)
ENCODING: Final = Key(
    "encoding",
    ANY_TEXT,
    means="of its characters; UTF-8 when absent, in XML what the document says",
    example="encoding: cp037",
    also=("charset", "codepage"),
)
LINE_END: Final = Key(
    "line_end",
    Choice(LineEnd),
    means="what stands after each record, or row; when absent lf, and none where a record's bytes may hold one",
    example="line_end: none",
)
ROWS: Final = Key(
    "rows",
    FIELD,
    means="name of the field under which rows are listed; one row, without a name, when absent",
    example="rows: orders",
)
LENGTH: Final = Key(
    "length",
    Whole(minimum=1),
    means="bytes of a fixed-width record; where its last field ends when absent",
    example="length: 80",
)
OVERPUNCH: Final = Key(
    "overpunch",
    Choice(Overpunch),
    means="how a sign is written over a digit of ASCII; both are read",
    example="overpunch: ascii",
)
TRIMMED: Final = Key(
    "trimmed", Flag(), means="spaces at the end of a record may be missing", example="trimmed: true", also=("trim",)
)
HEADER: Final = Key(
    "header", Flag(), means="a CSV begins with the names of its columns; when absent: yes", example="header: false"
)
DELIMITER: Final = Key(
    "delimiter",
    CharShape(),
    means="what stands between two cells of a CSV; a comma when absent",
    example='delimiter: ";"',
    also=("separator", "sep"),
)
QUOTE: Final = Key(
    "quote", CharShape(), means="what stands around a cell of a CSV where it must", example='quote: "\'"'
)
ROOT: Final = Key("root", ANY_TEXT, means="outermost element of XML", example="root: Application")
EACH: Final = Key("each", ANY_TEXT, means="path of the elements of XML that are rows", example="each: orders/order")
NAMESPACES: Final = Key(
    "namespaces",
    NAMESPACES_BY_PREFIX,
    means="prefixes of names in XML, and what they stand for",
    example='namespaces: { soap: "http://schemas.xmlsoap.org/soap/envelope/" }',
)
PATTERN: Final = Key(
    "pattern",
    Text(expected="a regular expression with named groups, in quotes"),
    means="of text: a regular expression whose named groups are its fields",
    example="pattern: 'total: (?P<total>[0-9.]+)'",
    also=("regex", "regexp"),
)

_PLAIN: Final[tuple[Key[Any], ...]] = (
    FORMAT,
    FIELDS,
    LINE_END,
    LENGTH,
    OVERPUNCH,
    TRIMMED,
    HEADER,
    DELIMITER,
    QUOTE,
)
_TEXT: Final = (ENCODING, ROWS, ROOT, EACH, PATTERN)


def _build(fields: Fields) -> Message | None:
    given: dict[str, Any] = {key.name: value for key in _PLAIN if (value := fields.get(key)) is not None}
    given |= {key.name: text.value for key in _TEXT if (text := fields.get(key)) is not None}
    schema, namespaces = fields.get(SCHEMA), fields.get(NAMESPACES)
    if schema is not None:
        given["schema"] = schema.schema
    if namespaces is not None:
        given["namespaces"] = dict(namespaces)
    return Message(**given) if FORMAT.name in given else None


MESSAGE: Final[Record[Message]] = Record(
    "message",
    means="What goes into a program, or comes out of it.",
    keys=(
        FORMAT,
        FIELDS,
        SCHEMA,
        ENCODING,
        LINE_END,
        ROWS,
        LENGTH,
        OVERPUNCH,
        TRIMMED,
        HEADER,
        DELIMITER,
        QUOTE,
        ROOT,
        EACH,
        NAMESPACES,
        PATTERN,
    ),
    build=_build,
)
