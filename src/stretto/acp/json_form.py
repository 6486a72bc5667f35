"""Messages as JSON: the JSON mapping of the proto (protobuf.dev/programming-guides/json).

A reader of that mapping takes a field by its proto name too, a number as text, bytes in base64url, and null for what is
unset. Peers that write it plainly, as all known libraries do, are read in one pass; the others in a second one.
"""

import re
from functools import cache
from typing import Any, Final, TypeVar, get_args

import msgspec

from stretto.acp.messages import Message
from stretto.types.errors import NotJsonError

M = TypeVar("M", bound=Message)

_ENCODER: Final = msgspec.json.Encoder()

_FREE: Final = frozenset({"input", "output", "evidence", "baggage", "labels", "effects", "value"})
"""Fields that hold values of the peers' own, in which no name is ours."""

_STANDARD: Final = str.maketrans("-_", "+/")
"""From base64url (RFC 4648, section 5), which the mapping allows as well."""

_NULLABLE: Final = "value"
"""The one field in which null is a value."""


def encode(message: Message) -> bytes:
    """The message as JSON text, UTF-8. Raises NotJsonError for what JSON cannot hold."""
    try:
        return _ENCODER.encode(message)
    except (TypeError, ValueError, UnicodeEncodeError, OverflowError) as error:
        raise NotJsonError(f"a message cannot be written as JSON: {error}") from error


def decode(text: bytes, form: type[M]) -> M:
    """The message that a JSON text holds; fields of a newer minor version are passed over.

    Raises msgspec.DecodeError for what is no JSON, msgspec.ValidationError, with the place, for another form.
    """
    try:
        return _decoded(text, form)
    except RecursionError as error:
        raise msgspec.DecodeError("it is nested too deeply to be read") from error


def _decoded(text: bytes, form: type[M]) -> M:
    if _proto_names(form).search(text) is None:
        try:
            read: M = _decoder(form).decode(text)
        except msgspec.ValidationError:
            pass  # may be a number as text, or a null
        else:
            return read
    converted: M = msgspec.convert(_plain(msgspec.json.decode(text), form), form, strict=False)
    return converted


@cache
def _decoder(form: type[M]) -> msgspec.json.Decoder[M]:
    return msgspec.json.Decoder(form)


@cache
def _proto_names(form: type[Message]) -> re.Pattern[bytes]:
    """Finds a field by its proto name, where that is not its JSON name.

    It looks for underscores, and behind itself from there: a few times as fast as looking at each quotation mark.
    """
    names = sorted({name.encode() for name in _all_names(form) if "_" in name})
    ends = b"|".join(b'%s"(?<="%s")' % (name.partition(b"_")[2], name) for name in names)
    return re.compile(rb"_(?:%s)\s*:" % ends if ends else b"(?!)")


def _all_names(form: type[Message]) -> set[str]:
    names = set()
    for field in msgspec.structs.fields(form):
        names.add(field.name)
        inner = _message_in(field.type)
        if inner is not None:
            names |= _all_names(inner)
    return names


def _plain(value: Any, form: type[Message]) -> Any:  # outside bytes: `convert` judges them
    """The same with JSON names, and without nulls, as far as the names are ours."""
    if isinstance(value, list):
        return [_plain(each, form) for each in value]
    if not isinstance(value, dict):
        return value
    fields = {name: field for field in msgspec.structs.fields(form) for name in (field.name, field.encode_name)}
    plain = {}
    for name, each in value.items():
        field = fields.get(name)
        if field is None or (each is None and field.name != _NULLABLE):
            continue
        inner = None if field.name in _FREE else _message_in(field.type)
        plain[field.encode_name] = _scalar(each, field) if inner is None else _plain(each, inner)
    return plain


def _scalar(value: Any, field: msgspec.structs.FieldInfo) -> Any:  # as above
    """Bytes in either alphabet of base64, padded or not. Raises ValidationError for what only looks like a bool."""
    if field.type is bytes and isinstance(value, str):
        return value.translate(_STANDARD) + "=" * (-len(value) % 4)
    if field.type is bool and not isinstance(value, bool):
        raise msgspec.ValidationError(f"Expected `bool`, got `{type(value).__name__}` - at `{field.encode_name}`")
    return value


def _message_in(kind: Any) -> type[Message] | None:
    """The message that a field of this type holds, once or many times."""
    if isinstance(kind, type) and issubclass(kind, Message):
        return kind
    return next((found for part in get_args(kind) if (found := _message_in(part)) is not None), None)
