"""A record as its copybook has it: fields, groups of fields, and what occurs several times, each made ready once."""

from collections.abc import Sequence

import msgspec

from stretto.components.exec.binary import MAX_DIGITS_OF_ONE_BYTE
from stretto.components.exec.codec_of import wrong_field
from stretto.components.exec.declared_field import Field
from stretto.components.exec.picture import MAX_WIDTH
from stretto.components.exec.slots import Slot, slot_of
from stretto.components.exec.zoned import Digits
from stretto.types.json import Json, JsonObject


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """One field, with all that lies in it."""

    field: Field
    width: int
    """Bytes of one of its occurrences."""
    slot: Slot | None = None
    """None for a group, a constant and a filler."""
    constant: bytes | None = None
    inner: "tuple[Level, ...]" = ()
    """Of a group."""


def levels_of(fields: Sequence[Field], encoding: str, digits: Digits) -> tuple[Level, ...]:
    """Make each field ready; raises UsageError for what cannot work."""
    return tuple(_level(field, encoding, digits) for field in fields)


def width_of(levels: Sequence[Level]) -> int:
    """Bytes of a record, or of a group, with its gaps."""
    end = at = 0
    for level in levels:
        at = (at if level.field.offset is None else level.field.offset) + level.width * level.field.occurs
        end = max(end, at)
    return end


def schema_of(levels: Sequence[Level], *, is_input: bool) -> JsonObject:
    """JSON Schema of a record, or of a group: closed, what is optional left out of a request or null."""
    named = [level for level in levels if level.field.name]
    required: list[Json] = [level.field.name for level in named if not (is_input and level.field.optional)]
    return {
        "type": "object",
        "properties": {level.field.name: _schema(level, is_input=is_input) for level in named},
        "required": required,
        "additionalProperties": False,
    }


def _schema(level: Level, *, is_input: bool) -> JsonObject:
    field = level.field
    if level.slot is None:
        schema = schema_of(level.inner, is_input=is_input)
    else:
        schema = level.slot.takes if is_input else level.slot.gives
    if field.occurs > 1:
        least = 0 if field.optional else field.occurs
        schema = {"type": "array", "items": schema, "minItems": least, "maxItems": field.occurs}
    elif field.optional:
        schema = {"anyOf": [schema, {"type": "null"}]}
    return {**schema, "description": field.means} if field.means else schema


def _level(field: Field, encoding: str, digits: Digits) -> Level:
    if field.fields:
        return _group(field, encoding, digits)
    width = _width(field, encoding)
    if not 1 <= width * field.occurs <= MAX_WIDTH:
        raise wrong_field(field, f"is {width * field.occurs} bytes wide; expected 1 to {MAX_WIDTH:,}")
    if field.constant is not None:
        return Level(field=field, width=width, constant=_constant(field, width, encoding))
    slot = slot_of(field, width, encoding, digits) if field.name else None
    return Level(field=field, width=width, slot=slot)


def _group(field: Field, encoding: str, digits: Digits) -> Level:
    if field.optional and field.occurs == 1:
        raise wrong_field(field, "is a group that occurs once, and cannot be `optional`; its fields can")
    inner = levels_of(field.fields, encoding, digits)
    if not any(level.field.name for level in inner):
        raise wrong_field(field, "is a group in which nothing has a name; room that means nothing is a `filler`")
    width = width_of(inner)
    if field.width is not None and field.width < width:
        raise wrong_field(field, f"is {field.width} bytes wide, and its fields take {width}")
    return Level(field=field, width=field.width or width, inner=inner)


def _width(field: Field, encoding: str) -> int:
    if field.filler:
        if field.width is not None or field.picture is not None:
            raise wrong_field(field, "has a `width` or `picture` beside; give its bytes once: filler: 8")
        return field.filler
    if field.picture is not None and field.picture.is_binary and field.picture.size <= MAX_DIGITS_OF_ONE_BYTE:
        if field.width not in (1, 2):
            raise wrong_field(
                field, f"has the picture {field.picture}, one byte to GnuCOBOL and two to IBM; say width: 1 or width: 2"
            )
        return field.width
    if field.picture is not None:
        if field.width not in (None, field.picture.width):
            raise wrong_field(
                field, f"has the width {field.width}, and its picture {field.picture} takes {field.picture.width} bytes"
            )
        return field.picture.width
    if field.width is None and field.constant is not None:
        return len(field.constant.encode(encoding, "replace"))
    if field.width is None:
        raise wrong_field(field, "has neither a `width` nor a `picture`, so nobody knows where it ends; try width: 8")
    return field.width


def _constant(field: Field, width: int, encoding: str) -> bytes:
    try:
        data = (field.constant or "").encode(encoding)
    except UnicodeEncodeError as error:
        raise wrong_field(field, f"is {field.constant!r}, which {encoding} cannot write: {error.reason}") from error
    if len(data) > width:
        raise wrong_field(field, f"is {field.constant!r}, {len(data)} bytes, and its place has {width}")
    return data + " ".encode(encoding) * (width - len(data))
