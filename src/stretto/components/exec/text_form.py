"""Plain text: one field is all of it, or a regular expression names its parts.

The expression is searched for by RE2, in time linear in the text: no answer of a program can keep it busy.
"""

from typing import Any

from stretto.components.exec.codec_of import text_codec
from stretto.components.exec.codecs import Misfits, UnreadableError, pointer_to, shown, unknown_names, value_of
from stretto.components.exec.declared_field import Field
from stretto.components.exec.message import LineEnd, Message
from stretto.components.exec.misfit import MisfitError
from stretto.components.exec.scalars import ScalarCodec
from stretto.components.exec.schemas import input_schema, output_schema
from stretto.components.exec.texts import text_of
from stretto.types.errors import MissingExtraError, UsageError
from stretto.types.json import Json, JsonObject

WHOLE = Field(name="text")
"""What a text is when no field is declared."""


class TextEncoder:
    """Writes one field's text."""

    def __init__(self, message: Message) -> None:
        (self._field,) = message.fields or (WHOLE,)
        self._codec = text_codec(self._field, self._field.width)
        self._encoding = message.encoding or "utf-8"
        self._end = (message.line_end or LineEnd.LF).text
        self.schema = input_schema([(self._field, self._codec.takes)], "")

    def encode(self, request: JsonObject) -> bytes:
        misfits = Misfits()
        unknown_names(request, [self._field], "", misfits)
        value = value_of(request, self._field)
        data = b""
        try:
            data = self._text(value).encode(self._encoding)
        except MisfitError as error:
            misfits.add(pointer_to("", self._field.name), value, str(error))
        except UnicodeEncodeError as error:
            misfits.add(pointer_to("", self._field.name), value, f"characters of {self._encoding}: {error.reason}")
        misfits.raise_if_any()
        return data

    def _text(self, value: Json) -> str:
        text = "" if value is None and self._field.optional else self._codec.write(value)
        return f"{text}{self._end}"


class WholeDecoder:
    """Reads all of it, without the white space around it, into one field."""

    def __init__(self, message: Message) -> None:
        (self._field,) = message.fields or (WHOLE,)
        self._codec = text_codec(self._field, self._field.width)
        self._encoding = message.encoding or "utf-8"
        self.schema = output_schema([(self._field, self._codec.gives)], "")

    def decode(self, data: bytes) -> JsonObject:
        text = text_of(data, self._encoding).strip()
        return {self._field.name: _value(self._field, self._codec, text)}


class PatternDecoder:
    """Reads the groups of a pattern, of the first place where it is found, or of all.

    Lines end in a line feed, also those of a program that ends them in two characters; the last one ends with the text.
    """

    def __init__(self, message: Message) -> None:
        self._search = compiled(message.pattern)
        names = list(self._search.groupindex)
        declared = {field.name: field for field in message.fields}
        unknown = [name for name in declared if name not in names]
        if unknown or not names:
            has = f"the groups {', '.join(names)}" if names else "no named groups, such as (?P<total>[0-9]+)"
            raise UsageError(f"`pattern` has {has}" + (f", and none is called '{unknown[0]}'" if unknown else ""))
        self._message = message
        self._fields = [declared.get(name, Field(name=name)) for name in names]
        self._codecs = [text_codec(field, field.width) for field in self._fields]
        schemas = [(field, codec.gives) for field, codec in zip(self._fields, self._codecs, strict=True)]
        self.schema = output_schema(schemas, message.rows)

    def decode(self, data: bytes) -> JsonObject:
        text = text_of(data, self._message.encoding or "utf-8").replace("\r\n", "\n").removesuffix("\n")
        if self._message.rows:
            return {self._message.rows: [self._row(found) for found in self._search.finditer(text)]}
        found = self._search.search(text)
        if found is None:
            raise UnreadableError(f"{shown(text.strip())}; expected the pattern {self._message.pattern}")
        return self._row(found)

    def _row(self, found: Any) -> JsonObject:  # a match of RE2, which has no types
        groups: dict[str, str | None] = found.groupdict()
        return {
            field.name: _value(field, codec, groups[field.name])
            for field, codec in zip(self._fields, self._codecs, strict=True)
        }


def compiled(pattern: str) -> Any:
    """A pattern as RE2 has it. Raises UsageError when it cannot be read, MissingExtraError without RE2."""
    try:
        import re2
    except ImportError as error:
        raise MissingExtraError("`pattern` of a program's answer", "exec") from error
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        why = error.args[0].decode() if isinstance(error.args[0], bytes) else error
        raise UsageError(
            f"`pattern` is '{pattern}', which RE2 cannot read: {why}; it has no (?=, (?!, (?<=, (?<! and \\1"
        ) from error


def _value(field: Field, codec: ScalarCodec, text: str | None) -> Json:
    if field.optional and not text:
        return None
    if text is None:
        raise UnreadableError(
            f"the group '{field.name}' is not in the text; say optional: true where it may be missing"
        )
    try:
        return codec.read(text)
    except MisfitError as error:
        raise UnreadableError(f"'{field.name}' is {shown(text)}; expected {error}") from error
