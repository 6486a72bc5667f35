"""The encoder of a request and the decoder of an answer, from their declarations. Both raise UsageError for what cannot
work together."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from stretto.components.encodings import known_encoding
from stretto.components.exec.codec_of import check_writable
from stretto.components.exec.codecs import Decoder, Encoder
from stretto.components.exec.csv_form import CsvDecoder, CsvEncoder
from stretto.components.exec.declared_field import Field, FieldType
from stretto.components.exec.fixed import FixedDecoder, FixedEncoder
from stretto.components.exec.json_form import JsonDecoder, JsonEncoder
from stretto.components.exec.layout import check_overpunch, lay_out
from stretto.components.exec.message import FIELD_OF_FORMAT, OF_FORMAT, Format, LineEnd, Message, changed
from stretto.components.exec.text_form import PatternDecoder, TextEncoder, WholeDecoder
from stretto.components.exec.texts import is_ebcdic
from stretto.components.exec.xml_form import XmlDecoder, XmlEncoder
from stretto.types.errors import UsageError

_ONLY_READ: Final = {
    Format.FIXED: frozenset({"trimmed"}),
    Format.TEXT: frozenset({"pattern", "rows"}),
}
"""What has an effect only where a message is read."""

_ONLY_WRITTEN: Final = {Format.CSV: frozenset({"line_end"}), Format.TEXT: frozenset({"line_end"})}

_OF_VALUES: Final = ("type", "values", "date", "picture", "pad", "justify")
"""Keys that say how one value stands in its place."""

_FIELDS_NEEDED: Final = (Format.FIXED, Format.XML)


def encoder_of(message: Message) -> Encoder:
    """Writes requests."""
    _check(message, "request", _ONLY_READ)
    check_writable(message.fields)
    match message.format:
        case Format.JSON:
            return JsonEncoder(message)
        case Format.FIXED:
            check_overpunch(message)
            return FixedEncoder(lay_out(message), message.rows)
        case Format.CSV:
            _need_fields(message, "request")
            return CsvEncoder(message)
        case Format.XML:
            if not message.root:
                raise UsageError("`request` of format xml has no `root`, the name of its outermost element")
            return XmlEncoder(message)
        case Format.TEXT:
            _need_one_field(message, "request")
            return TextEncoder(message)


def decoder_of(message: Message) -> Decoder:
    """Reads answers."""
    _check(message, "response", _ONLY_WRITTEN)
    match message.format:
        case Format.JSON:
            return JsonDecoder(message)
        case Format.FIXED:
            return FixedDecoder(lay_out(message), message.rows, trimmed=message.trimmed)
        case Format.CSV:
            if not message.header:
                _need_fields(message, "response")
            return CsvDecoder(message)
        case Format.XML:
            return XmlDecoder(message)
        case Format.TEXT if message.pattern:
            return PatternDecoder(message)
        case Format.TEXT:
            _need_one_field(message, "response")
            if message.rows:
                raise UsageError("`response` of format text has `rows` and no `pattern` that finds them")
            return WholeDecoder(message)


def _check(message: Message, side: str, elsewhere: dict[Format, frozenset[str]]) -> None:
    format_ = message.format
    for name in changed(message, OF_FORMAT[format_] | {"format"}):
        raise UsageError(f"`{side}` has `{name}`, which has no effect in format {format_}; remove it")
    for name in changed(message, OF_FORMAT[format_] - elsewhere.get(format_, frozenset()) | {"format"}):
        raise UsageError(f"`{side}` of format {format_} has `{name}`, which has an effect on the other side only")
    if format_ in _FIELDS_NEEDED:
        _need_fields(message, side)
    _check_fields(message.fields, format_, side)
    _check_encoding(message, side)
    _check_form(message, side)


def _check_fields(fields: Sequence[Field], format_: Format, side: str) -> None:
    names = [field.name for field in fields if field.name]
    twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if twice is not None:
        raise UsageError(f"`{side}` has two fields called '{twice}'")
    for field in fields:
        for name in changed(field, FIELD_OF_FORMAT[format_]):
            raise UsageError(f"{_named(field)} of `{side}` has `{name}`, which has no effect in format {format_}")
        _check_kind(field, side)
        _check_fields(field.fields, format_, side)


def _check_kind(field: Field, side: str) -> None:
    kinds = [bool(field.name), field.constant is not None, bool(field.filler)]
    if sum(kinds) != 1:
        raise UsageError(f"{_named(field)} of `{side}` has {sum(kinds)} of `name`, `constant`, `filler`; give one")
    for name, why in _idle(field):
        raise UsageError(f"{_named(field)} of `{side}` has `{name}`, {why}")
    if len(field.pad) > 1:
        raise UsageError(f"field '{field.name}' of `{side}` has the `pad` '{field.pad}'; expected one character")


def _idle(field: Field) -> Iterator[tuple[str, str]]:
    """Keys of a field that have no effect beside its others, and why."""
    given = changed(field, frozenset())
    is_coded = isinstance(field.values, Mapping)
    is_number = field.picture is not None and field.picture.is_numeric
    for applies, names, why in (
        (bool(field.fields), _OF_VALUES, "which a group of `fields` has not"),
        (
            not field.name,
            (*_OF_VALUES, "occurs", "fields", "optional", "means"),
            "which has no effect without a `name`",
        ),
        (is_coded, ("date",), "and its `values` say what its codes mean; remove it"),
        (field.type not in (None, FieldType.DATE), ("date",), f"which has no effect on type: {field.type}"),
        (is_number, ("pad", "justify"), "which its picture decides; remove it"),
    ):
        yield from ((name, why) for name in names if applies and name in given)


def _check_encoding(message: Message, side: str) -> None:
    if not message.encoding:
        return
    expected = "one that Python knows, such as utf-8, latin-1, cp1252, or cp037, cp500, cp1140, cp273 of EBCDIC"
    try:
        spaces = "0 ".encode(known_encoding(message.encoding))
    except (LookupError, UnicodeError) as error:
        raise UsageError(f"`encoding` of `{side}` is '{message.encoding}'; expected {expected}") from error
    if message.format is Format.FIXED and len(spaces) != 2:
        raise UsageError(f"`encoding` of `{side}` is '{message.encoding}', whose digits are no single bytes")


def _check_form(message: Message, side: str) -> None:
    for name in ("delimiter", "quote"):
        value = getattr(message, name)
        if len(value) != 1 or value in "\r\n":
            raise UsageError(f"`{name}` of `{side}` is {value!r}; expected one character")
    if message.delimiter == message.quote:
        raise UsageError(f"`delimiter` and `quote` of `{side}` are both {message.quote!r}")
    if message.line_end is LineEnd.NEL and not is_ebcdic(message.encoding or "utf-8"):
        raise UsageError(f"`line_end` of `{side}` is nel, which is EBCDIC's; say its `encoding`, such as cp037")
    if message.format is Format.CSV and message.line_end is LineEnd.NONE:
        raise UsageError(f"`line_end` of `{side}` is none, and rows of CSV end in one")
    if message.each and not message.rows:
        raise UsageError(f"`{side}` has `each` and no `rows`: the name to list them under")
    if message.format is Format.XML and message.rows and not message.each:
        raise UsageError(f"`{side}` has `rows` and no `each`: the path of the elements that are rows")
    if message.length is not None and message.length < 1:
        raise UsageError(f"`length` of `{side}` is {message.length}; expected 1 or more")


def _need_fields(message: Message, side: str) -> None:
    if not any(field.name for field in message.fields):
        raise UsageError(f"`{side}` of format {message.format} has no fields; name what stands in it")


def _need_one_field(message: Message, side: str) -> None:
    if len(message.fields) > 1:
        why = "; what has parts needs a `pattern`" if side == "response" else ""
        raise UsageError(f"`{side}` of format text has {len(message.fields)} fields; expected one, all of it{why}")


def _named(field: Field) -> str:
    return f"field '{field.name}'" if field.name else "a field"
