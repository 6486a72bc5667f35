"""The keys of a field of a program's messages."""

from typing import Any, Final

from stretto.components.exec.declared_field import Field, FieldType, Justify
from stretto.components.exec.shapes import CharShape, PictureShape, ValuesShape
from stretto.components.option_shapes import ANY_TEXT
from stretto.spec.nested import Items
from stretto.spec.records import Fields, Forward, Key, Record
from stretto.spec.shapes import Choice, Flag, Text, Whole
from stretto.spec.texts import FIELD, PROSE

NAME: Final = Key("name", FIELD, means="the field's name in JSON", example="name: income")
CONSTANT: Final = Key(
    "constant", ANY_TEXT, means="in place of a name: what always stands there", example='constant: "CR01"'
)
FILLER: Final = Key(
    "filler", Whole(minimum=1), means="in place of a name: bytes of a record that mean nothing", example="filler: 8"
)
OFFSET: Final = Key(
    "offset",
    Whole(minimum=0),
    means="bytes of the record before it; right after the field before when absent",
    example="offset: 20",
    also=("at", "start", "position"),
)
WIDTH: Final = Key(
    "width",
    Whole(minimum=1),
    means="its bytes in a record; elsewhere the most characters of its text",
    example="width: 20",
    also=("length", "size", "len"),
)
PICTURE: Final = Key(
    "picture",
    PictureShape(),
    means="its COBOL picture clause, with SIGN and USAGE as a copybook has them",
    example="picture: S9(7)V99 COMP-3",
    also=("pic",),
)
TYPE: Final = Key("type", Choice(FieldType), means="what stands for it in JSON", example="type: decimal")
VALUES: Final = Key(
    "values",
    ValuesShape(),
    means="all that it may hold, or codes and what they stand for",
    example='values: { "1": gold, "2": silver }',
    also=("enum", "codes"),
)
DATE: Final = Key(
    "date",
    Text(expected="a layout such as YYYYMMDD"),
    means="layout of a date, of YYYY or YY, MM, DD or DDD",
    example="date: YYYYMMDD",
)
PAD: Final = Key("pad", CharShape(), means="character that fills its place in a record", example='pad: "0"')
JUSTIFY: Final = Key(
    "justify",
    Choice(Justify),
    means="side of its place on which it stands; left for text, right for numbers when absent",
    example="justify: right",
    also=("align",),
)
OPTIONAL: Final = Key(
    "optional",
    Flag(),
    means="blank, or missing, is null; of what occurs several times, empty items at the end are left out",
    example="optional: true",
)
OCCURS: Final = Key(
    "occurs",
    Whole(minimum=2),
    means="times that it stands in a record, one behind the other: a list in JSON",
    example="occurs: 12",
    also=("times", "repeat"),
)
INNER: Final[Key[tuple[Field, ...]]] = Key(
    "fields",
    Forward(lambda: FIELDS.shape),
    means="fields of a group, in place of a width: an object in JSON",
    example="fields: [{ name: item, width: 8 }, { name: count, picture: 9(3) }]",
)
COLUMN: Final = Key(
    "column",
    ANY_TEXT,
    means="name in the header of a CSV; its own when absent",
    example="column: Kundennummer",
    also=("header", "title"),
)
PATH: Final = Key(
    "path",
    ANY_TEXT,
    means="where it stands in XML; an element of its own name when absent",
    example="path: order/@id",
    also=("xpath",),
)
MEANS: Final = Key("means", PROSE, means="what it means, in words", example="means: what is owed, in euros")

_PLAIN: Final[tuple[Key[Any], ...]] = (
    FILLER,
    OFFSET,
    WIDTH,
    PICTURE,
    TYPE,
    VALUES,
    PAD,
    JUSTIFY,
    OPTIONAL,
    OCCURS,
    INNER,
)
_TEXT: Final = (NAME, CONSTANT, DATE, COLUMN, PATH, MEANS)


def _build(fields: Fields) -> Field | None:
    given: dict[str, Any] = {key.name: value for key in _PLAIN if (value := fields.get(key)) is not None}
    given |= {key.name: text.value for key in _TEXT if (text := fields.get(key)) is not None}
    return Field(**given)


FIELD_RECORD: Final[Record[Field]] = Record(
    "message-field",
    means="One place of what a program reads or writes.",
    keys=(
        NAME,
        CONSTANT,
        FILLER,
        OFFSET,
        WIDTH,
        PICTURE,
        TYPE,
        VALUES,
        DATE,
        PAD,
        JUSTIFY,
        OPTIONAL,
        OCCURS,
        INNER,
        COLUMN,
        PATH,
        MEANS,
    ),
    build=_build,
    may_be_empty=False,
)

FIELDS: Final[Key[tuple[Field, ...]]] = Key(
    "fields",
    Items(item=FIELD_RECORD, what="fields"),
    means="what stands in it, place by place",
    example="fields: [{ name: age, picture: 9(3) }, { name: income, picture: 9(7)V99 }]",
)
