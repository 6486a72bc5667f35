"""Fixed-width records: each field in its bytes, as COBOL programs read and write them."""

from stretto.components.exec.codecs import (
    Misfits,
    UnreadableError,
    pointer_to,
    rows_of,
    shown_bytes,
    unknown_names,
    value_of,
)
from stretto.components.exec.layout import Layout, Place
from stretto.components.exec.message import LineEnd
from stretto.components.exec.misfit import MisfitError
from stretto.components.exec.schemas import input_schema, output_schema
from stretto.types.json import Json, JsonObject


class FixedEncoder:
    """Writes records."""

    def __init__(self, layout: Layout, rows: str) -> None:
        self._layout = layout
        self._rows = rows
        self.schema = input_schema([(place.field, place.slot.takes) for place in layout.places if place.slot], rows)

    def encode(self, request: JsonObject) -> bytes:
        misfits = Misfits()
        records = [self._record(row, at, misfits) for at, row in rows_of(request, self._rows, misfits)]
        misfits.raise_if_any()
        return b"".join(records)

    def _record(self, row: JsonObject, pointer: str, misfits: Misfits) -> bytes:
        layout = self._layout
        unknown_names(row, [place.field for place in layout.named], pointer, misfits)
        record = bytearray(layout.blank * layout.length)
        for place in layout.places:
            record[place.offset : place.end] = self._bytes(place, row, pointer, misfits)
        return bytes(record) + layout.line_end.text.encode("ascii")

    def _bytes(self, place: Place, row: JsonObject, pointer: str, misfits: Misfits) -> bytes:
        blank = self._layout.blank * place.width
        if place.slot is None:
            return blank if place.constant is None else place.constant
        value = value_of(row, place.field)
        try:
            data = place.slot.put(value)
            if self._layout.line_end is not LineEnd.NONE and (b"\n" in data or b"\r" in data):
                raise MisfitError("text without a line break, which would end the record")
        except MisfitError as error:
            misfits.add(pointer_to(pointer, place.field.name), value, str(error))
            return blank
        return data


class FixedDecoder:
    """Reads records."""

    def __init__(self, layout: Layout, rows: str, *, trimmed: bool) -> None:
        self._layout = layout
        self._rows = rows
        self._trimmed = trimmed
        self.schema = output_schema([(place.field, place.slot.gives) for place in layout.places if place.slot], rows)

    def decode(self, data: bytes) -> JsonObject:
        records = self._split(data)
        if self._rows:
            rows: list[Json] = [self._row(record, start, number) for number, (start, record) in enumerate(records, 1)]
            return {self._rows: rows}
        if len(records) != 1:
            raise UnreadableError(f"{len(records)} records, {len(data):,} bytes; expected one of {self._sized}")
        return self._row(records[0][1], records[0][0], 0)

    def _split(self, data: bytes) -> list[tuple[int, bytes]]:
        """The records, each with its offset in the output."""
        if self._layout.line_end is LineEnd.NONE:
            length = self._layout.length
            if not self._rows and len(data) != length:
                raise UnreadableError(f"{len(data):,} bytes; expected a record of {length}")
            return [(at, data[at : at + length]) for at in range(0, len(data), length)]
        found, at = [], 0
        for line in data.split(b"\n"):
            found.append((at, line.removesuffix(b"\r")))
            at += len(line) + 1
        if not found[-1][1]:
            found.pop()
        return found

    def _row(self, record: bytes, start: int, number: int) -> JsonObject:
        where = f"record {number}, at offset {start:,}" if number else "the record"
        record = self._whole(record, where)
        row: JsonObject = {}
        for place in self._layout.places:
            part = record[place.offset : place.end]
            if place.slot is not None:
                row[place.field.name] = self._value(place, part, start, number)
            elif place.constant is not None and part != place.constant:
                expected = f"the constant {shown_bytes(place.constant)}"
                raise UnreadableError(f"{self._at(place, start, number)} is {shown_bytes(part)}; expected {expected}")
        return row

    def _whole(self, record: bytes, where: str) -> bytes:
        layout = self._layout
        if self._trimmed and len(record) < layout.length:
            record = record + layout.blank * (layout.length - len(record))
        if len(record) == layout.length:
            return record
        cut = next((place for place in layout.named if place.end > len(record)), None)
        missing = f", which ends in or before field '{cut.field.name}'" if cut is not None else ""
        hint = "; where trailing spaces are left out, say trimmed: true" if self._may_be_trimmed(record) else ""
        raise UnreadableError(f"{where} is {len(record)} bytes{missing}; expected {layout.length}{hint}")

    def _may_be_trimmed(self, record: bytes) -> bool:
        return not self._trimmed and bool(record) and len(record) < self._layout.length

    def _value(self, place: Place, part: bytes, start: int, number: int) -> Json:
        assert place.slot is not None
        try:
            return place.slot.take(part)
        except MisfitError as error:
            raise UnreadableError(
                f"{self._at(place, start, number)} is {shown_bytes(part)}; expected {error}"
            ) from error

    def _at(self, place: Place, start: int, number: int) -> str:
        what = f"field '{place.field.name}'" if place.field.name else "a constant"
        where = f", in record {number}," if number else ""
        return f"{what} at offset {start + place.offset:,}{where}"

    @property
    def _sized(self) -> str:
        ending = " bytes" if self._layout.line_end is LineEnd.NONE else " bytes and a line end"
        return f"{self._layout.length}{ending}"
