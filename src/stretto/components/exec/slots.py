"""A field in its place in a fixed-width record: JSON to the bytes of that place, and back."""

from collections.abc import Mapping
from typing import Protocol

from stretto.components.exec.binary import from_binary, to_binary
from stretto.components.exec.codec_of import (
    OF_TEXT,
    is_number_of_picture,
    text_codec,
    type_of,
    units_codec,
    wrong_field,
)
from stretto.components.exec.declared_field import Field, FieldType, Justify
from stretto.components.exec.misfit import MisfitError
from stretto.components.exec.packed import pack, unpack
from stretto.components.exec.picture import Picture, Sign
from stretto.components.exec.zoned import Digits
from stretto.types.json import Json, JsonObject


class Slot(Protocol):
    """What stands in one place. Both ways raise MisfitError."""

    @property
    def takes(self) -> JsonObject: ...

    @property
    def gives(self) -> JsonObject: ...

    @property
    def empty(self) -> bytes:
        """What stands there where nothing is said: spaces for text, zeros for numbers (COBOL's `INITIALIZE`)."""
        ...

    def put(self, value: Json) -> bytes: ...

    def take(self, data: bytes) -> Json: ...


def slot_of(field: Field, width: int, encoding: str, digits: Digits) -> Slot:
    """The slot of a named field; raises UsageError for a declaration that cannot work."""
    picture = field.picture
    if picture is not None and not picture.is_text and not is_number_of_picture(field):
        what = "binary" if picture.is_binary else "packed"
        raise wrong_field(field, f"has the picture {picture}, a {what} number; its type is integer, decimal or number")
    if picture is not None and is_number_of_picture(field):
        return _number_slot(field, picture, width, encoding, digits)
    if picture is not None and picture.is_numeric:
        if picture.sign is not Sign.NONE or picture.decimals:
            raise wrong_field(
                field, f"has the picture {picture}, a number; its type is integer, decimal or number, without codes"
            )
        return DigitsSlot(field, width, encoding)
    return TextSlot(field, width, encoding)


def _number_slot(field: Field, picture: Picture, width: int, encoding: str, digits: Digits) -> Slot:
    if picture.is_text:
        return ZonedSlot(field, picture, encoding, digits)
    if field.optional:
        what = "binary" if picture.is_binary else "packed"
        raise wrong_field(field, f"is {what}, which has no blank, so it cannot be `optional`")
    return BinarySlot(field, picture, width) if picture.is_binary else PackedSlot(field, picture)


class TextSlot:
    """Text with its padding."""

    def __init__(self, field: Field, width: int, encoding: str) -> None:
        self._codec = text_codec(field, width)
        self.takes, self.gives = self._codec.takes, self._codec.gives
        self._width = width
        self._encoding = encoding
        self._optional = field.optional
        self._letters_only = field.picture is not None and field.picture.symbol == "A"
        is_number = type_of(field) in (FieldType.INTEGER, FieldType.DECIMAL, FieldType.NUMBER)
        justify = field.justify or (Justify.RIGHT if is_number else Justify.LEFT)
        self._is_left = justify is Justify.LEFT
        self._pad = field.pad or " "
        if not _is_one_byte(self._pad, encoding):
            raise wrong_field(field, f"is filled with '{self._pad}', which is no single byte in {encoding}")
        self.empty = self._filled(b"")

    def put(self, value: Json) -> bytes:
        if value is None and self._optional:
            return self.empty
        text = self._codec.write(value)
        self._check_letters(text)
        return self._filled(encoded(text, self._encoding))

    def take(self, data: bytes) -> Json:
        text = decoded(data, self._encoding)
        bare = text.rstrip(self._pad) if self._is_left else text.lstrip(self._pad)
        if not bare and self._optional:
            return None
        self._check_letters(bare)
        return self._codec.read(bare)

    def _filled(self, data: bytes) -> bytes:
        if len(data) > self._width:
            raise MisfitError(f"at most {self._width} bytes in {self._encoding}")
        rest = self._pad.encode(self._encoding) * (self._width - len(data))
        return data + rest if self._is_left else rest + data

    def _check_letters(self, text: str) -> None:
        if self._letters_only and not all(char.isalpha() or char == " " for char in text):
            raise MisfitError("letters and spaces only: its picture is A")


class DigitsSlot:
    """Text that is digits throughout: numbers of accounts, codes, dates. Zeros in front stay."""

    def __init__(self, field: Field, width: int, encoding: str) -> None:
        self._is_plain = type_of(field) is FieldType.STRING and not field.values
        self._codec = text_codec(field, width)
        exact: JsonObject = {"type": "string", "pattern": f"^[0-9]{{{width}}}$"}
        self.takes = exact if self._is_plain else self._codec.takes
        self.gives = exact if self._is_plain else self._codec.gives
        self._width = width
        self._encoding = encoding
        self._optional = field.optional
        self.empty = ("0" * width).encode(encoding)
        assert type_of(field) in OF_TEXT or isinstance(field.values, Mapping)

    def put(self, value: Json) -> bytes:
        if value is None and self._optional:
            return self.empty
        return encoded(self._digits(self._codec.write(value)), self._encoding)

    def take(self, data: bytes) -> Json:
        text = decoded(data, self._encoding)
        if self._optional and not text.strip(" 0"):
            return None
        return self._codec.read(self._digits(text))

    def _digits(self, text: str) -> str:
        if len(text) != self._width or not (text.isascii() and text.isdigit()):
            raise MisfitError(f"{self._width} digits")
        return text


class ZonedSlot:
    """A number with a digit to each byte."""

    def __init__(self, field: Field, picture: Picture, encoding: str, digits: Digits) -> None:
        codec = units_codec(field, picture)
        self.takes, self.gives = codec.takes, codec.gives
        self._codec = codec
        self._picture = picture
        self._digits = digits
        self._blank = " ".encode(encoding) * picture.width if field.optional else None
        self.empty = digits.put(0, picture)

    def put(self, value: Json) -> bytes:
        if value is None and self._blank is not None:
            return self._blank
        return self._digits.put(self._codec.write(value), self._picture)

    def take(self, data: bytes) -> Json:
        if data == self._blank:
            return None
        return self._codec.read(self._digits.take(data, self._picture))


class PackedSlot:
    """A number with two digits to each byte."""

    def __init__(self, field: Field, picture: Picture) -> None:
        codec = units_codec(field, picture)
        self.takes, self.gives = codec.takes, codec.gives
        self._codec = codec
        self._picture = picture
        self.empty = pack(0, picture)

    def put(self, value: Json) -> bytes:
        return pack(self._codec.write(value), self._picture)

    def take(self, data: bytes) -> Json:
        return self._codec.read(unpack(data, self._picture))


def _is_one_byte(char: str, encoding: str) -> bool:
    try:
        return len(char.encode(encoding)) == 1
    except UnicodeEncodeError:
        return False


class BinarySlot:
    """A number in two's complement."""

    def __init__(self, field: Field, picture: Picture, width: int) -> None:
        codec = units_codec(field, picture)
        self.takes, self.gives = codec.takes, codec.gives
        self._codec = codec
        self._picture = picture
        self._width = width
        self.empty = to_binary(0, picture, width)

    def put(self, value: Json) -> bytes:
        return to_binary(self._codec.write(value), self._picture, self._width)

    def take(self, data: bytes) -> Json:
        return self._codec.read(from_binary(data, self._picture))


def encoded(text: str, encoding: str) -> bytes:
    """The bytes of a text; raises MisfitError for a character that the encoding lacks."""
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as error:
        raise MisfitError(f"characters of {encoding}, which has no {text[error.start]!r}") from error


def decoded(data: bytes, encoding: str) -> str:
    """The text of bytes; raises MisfitError for bytes that are none in the encoding."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise MisfitError(f"text in {encoding}") from error
