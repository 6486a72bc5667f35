"""Where each field of a fixed-width record stands. Raises UsageError for what cannot be laid out."""

from itertools import pairwise

import msgspec

from stretto.components.exec.codec_of import wrong_field
from stretto.components.exec.declared_field import Field
from stretto.components.exec.message import LineEnd, Message
from stretto.components.exec.picture import MAX_WIDTH
from stretto.components.exec.slots import Slot, slot_of
from stretto.components.exec.zoned import Digits
from stretto.types.errors import UsageError


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Some bytes of a record."""

    field: Field
    offset: int
    width: int
    slot: Slot | None
    """None for a constant and a filler."""
    constant: bytes | None = None
    """What stands there; None for a value and a filler."""

    @property
    def end(self) -> int:
        return self.offset + self.width


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """A record, laid out."""

    places: tuple[Place, ...]
    """In the order in which they stand."""
    length: int
    encoding: str
    line_end: LineEnd
    blank: bytes
    """A space."""

    @property
    def named(self) -> list[Place]:
        """Those that hold values."""
        return [place for place in self.places if place.slot is not None]


def lay_out(message: Message) -> Layout:
    """Give each field its bytes, in sequence where it has no offset of its own."""
    encoding = message.encoding or "utf-8"
    digits = Digits(encoding, message.overpunch)
    places: list[Place] = []
    for field in message.fields:
        after = places[-1].end if places else 0
        places.append(_place(field, after if field.offset is None else field.offset, encoding, digits))
    places.sort(key=lambda place: place.offset)
    _check_apart(places)
    end = places[-1].end if places else 0
    length = end if message.length is None else message.length
    if length < end:
        raise UsageError(f"`length` is {length}, and the last field ends after {end} bytes")
    return Layout(
        places=tuple(places),
        length=length,
        encoding=encoding,
        line_end=_line_end(message, encoding),
        blank=" ".encode(encoding),
    )


def _place(field: Field, offset: int, encoding: str, digits: Digits) -> Place:
    width = _width(field, encoding)
    if not 1 <= width <= MAX_WIDTH:
        raise wrong_field(field, f"is {width} bytes wide; expected 1 to {MAX_WIDTH:,}")
    if field.constant is not None:
        return Place(field=field, offset=offset, width=width, slot=None, constant=_constant(field, width, encoding))
    slot = slot_of(field, width, encoding, digits) if field.name else None
    return Place(field=field, offset=offset, width=width, slot=slot)


def _width(field: Field, encoding: str) -> int:
    if field.filler:
        if field.width is not None or field.picture is not None:
            raise wrong_field(field, "has a `width` or `picture` beside; give its bytes once: filler: 8")
        return field.filler
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


def _check_apart(places: list[Place]) -> None:
    for place, after in pairwise(places):
        if after.offset < place.end:
            raise wrong_field(
                after.field,
                f"begins at offset {after.offset}, inside the field before it, which ends after {place.end} bytes",
            )
    if places and places[0].offset < 0:
        raise wrong_field(places[0].field, f"has the offset {places[0].offset}; expected 0 or more")


def _line_end(message: Message, encoding: str) -> LineEnd:
    """Refuses a line end that data may hold, and takes none where none is declared."""
    packed = next((f for f in message.fields if f.picture is not None and f.picture.packed), None)
    is_ascii = "\n ".encode(encoding) == b"\n "
    if message.line_end is None:
        return LineEnd.LF if packed is None and is_ascii else LineEnd.NONE
    if message.line_end is not LineEnd.NONE and packed is not None:
        raise wrong_field(packed, "is packed and may hold the byte of a line end; leave `line_end` out, or: none")
    if message.line_end is not LineEnd.NONE and not is_ascii:
        raise UsageError(f"{encoding} has line ends of its own; leave `line_end` out: records end after their length")
    return message.line_end
