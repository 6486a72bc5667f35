"""Fixed-width records: each field in its bytes, as COBOL programs read and write them."""

from collections.abc import Iterator
from typing import Final

from stretto.components.exec.codecs import Misfits, UnreadableError, pointer_to, rows_of, shown_bytes
from stretto.components.exec.layout import Layout, Path, Place, described
from stretto.components.exec.levels import schema_of
from stretto.components.exec.message import LineEnd
from stretto.components.exec.misfit import MisfitError
from stretto.components.exec.schemas import with_rows
from stretto.types.json import Json, JsonObject

_MEANT: Final = {LineEnd.LF.text.encode(): LineEnd.LF, LineEnd.CRLF.text.encode(): LineEnd.CRLF}
"""What stands behind a record that was to end with its last byte, as GnuCOBOL has it for a file that is
assigned to DISPLAY."""


class FixedEncoder:
    """Writes records."""

    def __init__(self, layout: Layout, rows: str) -> None:
        self._layout = layout
        self._rows = rows
        self.schema = with_rows(schema_of(layout.levels, is_input=True), rows)

    def encode(self, request: JsonObject) -> bytes:
        misfits = Misfits()
        records = [self._record(row, at, misfits) for at, row in rows_of(request, self._rows, misfits)]
        misfits.raise_if_any()
        return b"".join(records)

    def _record(self, row: JsonObject, pointer: str, misfits: Misfits) -> bytes:
        layout = self._layout
        self._check_groups(row, pointer, misfits)
        self._check_tables(row, pointer, misfits)
        record = bytearray(layout.blank * layout.length)
        for place in layout.places:
            record[place.offset : place.end] = self._bytes(place, row, pointer, misfits)
        return bytes(record) + layout.ending

    def _check_groups(self, row: JsonObject, pointer: str, misfits: Misfits) -> None:
        """Tell of fields that have no place in the record, and of groups that are none."""
        for path, names in self._layout.groups.items():
            group = value_at(row, path)
            if isinstance(group, dict):
                for name in group.keys() - names:
                    where = pointer_to(_pointer(pointer, path), name)
                    misfits.add(where, group[name], f"one of the fields {', '.join(sorted(names))}")
            elif group is not None:
                misfits.add(_pointer(pointer, path), group, "an object of its fields")

    def _check_tables(self, row: JsonObject, pointer: str, misfits: Misfits) -> None:
        for table in self._layout.tables:
            items = value_at(row, table.path)
            count = len(items) if isinstance(items, list) else -1
            if count > table.occurs or (count < table.occurs and not (table.optional and (count >= 0 or not items))):
                number = f"at most {table.occurs}" if table.optional else f"{table.occurs}"
                misfits.add(_pointer(pointer, table.path), items, f"a list of {number} items")

    def _bytes(self, place: Place, row: JsonObject, pointer: str, misfits: Misfits) -> bytes:
        blank = self._layout.blank * place.width
        is_left_out = self._is_left_out(place.path, row)
        if place.slot is None:
            return blank if place.constant is None or is_left_out else place.constant
        if is_left_out:
            return place.slot.empty
        value = value_at(row, place.path)
        try:
            data = place.slot.put(value)
            if any(mark in data for mark in self._layout.breaks):
                raise MisfitError("text without a line break, which would end the record")
        except MisfitError as error:
            misfits.add(_pointer(pointer, place.path), value, str(error))
            return blank
        return data

    def _is_left_out(self, path: Path, row: JsonObject) -> bool:
        """Whether a place lies in an item that a table does not have; of what may not lack one, that was told."""
        for at, part in enumerate(path):
            if isinstance(part, int):
                items = value_at(row, path[:at])
                if not isinstance(items, list) or len(items) <= part:
                    return True
        return False


class FixedDecoder:
    """Reads records."""

    def __init__(self, layout: Layout, rows: str, *, trimmed: bool) -> None:
        self._layout = layout
        self._rows = rows
        self._trimmed = trimmed
        self._values = [place for place in layout.places if place.slot is not None]
        self.schema = with_rows(schema_of(layout.levels, is_input=False), rows)

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
        if not self._layout.breaks:
            return list(self._cut(data))
        mark, *before = self._layout.breaks
        found, at = [], 0
        for line in data.split(mark):
            found.append((at, line.removesuffix(b"".join(before))))
            at += len(line) + 1
        if not found[-1][1]:
            found.pop()
        return found

    def _cut(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Records of one length; the end of the last line may be missing."""
        length, ending = self._layout.length, self._layout.ending
        step = length + len(ending)
        if not self._rows and len(data) not in (length, step):
            meant = "" if ending else _MEANT.get(data[length:], "")
            hint = f"; a line end stands behind it: line_end: {meant}" if meant else ""
            raise UnreadableError(f"{len(data):,} bytes; expected a record of {length}{hint}")
        for at in range(0, len(data), step):
            behind = data[at + length : at + step]
            if behind and behind != ending:
                what = f"{shown_bytes(behind)} stands behind the record at offset {at:,}"
                raise UnreadableError(f"{what}; expected the line end {shown_bytes(ending)}")
            yield at, data[at : at + length]

    def _row(self, record: bytes, start: int, number: int) -> JsonObject:
        record = self._whole(record, f"record {number}, at offset {start:,}" if number else "the record")
        counts = self._counts(record)
        row: JsonObject = {}
        for path in counts:
            _put_at(row, path, [])
        for place in self._layout.places:
            part = record[place.offset : place.end]
            if _is_beyond(place.path, counts):
                continue
            if place.slot is not None:
                _put_at(row, place.path, self._value(place, part, start, number))
            elif place.constant is not None and part != place.constant:
                expected = f"the constant {shown_bytes(place.constant)}"
                raise UnreadableError(f"{_at(place, start, number)} is {shown_bytes(part)}; expected {expected}")
        return row

    def _whole(self, record: bytes, where: str) -> bytes:
        layout = self._layout
        if self._trimmed and len(record) < layout.length:
            record = record + layout.blank * (layout.length - len(record))
        if len(record) == layout.length:
            return record
        cut = next((place for place in self._values if place.end > len(record)), None)
        missing = f", which ends in or before {described(cut.path)}" if cut is not None else ""
        may_be_trimmed = not self._trimmed and 0 < len(record) < layout.length
        hint = "; where trailing spaces are left out, say trimmed: true" if may_be_trimmed else ""
        raise UnreadableError(f"{where} is {len(record)} bytes{missing}; expected {layout.length}{hint}")

    def _counts(self, record: bytes) -> dict[Path, int]:
        """How many items each table has: all, or those up to the last that is not empty."""
        counts = {table.path: 0 if table.optional else table.occurs for table in self._layout.tables}
        for table in self._layout.tables:
            if table.optional:
                counts[table.path] = max(self._filled(record, table.path), default=0)
        return {path: count for path, count in counts.items() if not _is_beyond(path, counts)}

    def _filled(self, record: bytes, table: Path) -> list[int]:
        """One more than the index of each item of a table in which something stands."""
        deep = len(table)
        found = []
        for place in self._values:
            item = place.path[deep] if place.path[:deep] == table else None
            if isinstance(item, int) and not self._is_empty(place, record):
                found.append(item + 1)
        return found

    def _is_empty(self, place: Place, record: bytes) -> bool:
        part = record[place.offset : place.end]
        return part == self._layout.blank * place.width or (place.slot is not None and part == place.slot.empty)

    def _value(self, place: Place, part: bytes, start: int, number: int) -> Json:
        assert place.slot is not None
        try:
            return place.slot.take(part)
        except MisfitError as error:
            raise UnreadableError(f"{_at(place, start, number)} is {shown_bytes(part)}; expected {error}") from error

    @property
    def _sized(self) -> str:
        ending = " bytes and a line end" if self._layout.ending else " bytes"
        return f"{self._layout.length}{ending}"


def value_at(row: JsonObject, path: Path) -> Json:
    """The value at a path; null where the way there is missing."""
    value: Json = row
    for part in path:
        if isinstance(value, dict) and isinstance(part, str):
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return None
    return value


def _put_at(row: JsonObject, path: Path, value: Json) -> None:
    """Put a value at a path, made on the way; items come in order."""
    inside: Json = row
    for part, after in zip(path, (*path[1:], None), strict=True):
        made: Json = value if after is None else [] if isinstance(after, int) else {}
        if isinstance(inside, dict) and isinstance(part, str):
            inside = inside.setdefault(part, made)
        elif isinstance(inside, list) and isinstance(part, int):
            if part == len(inside):
                inside.append(made)
            inside = inside[part]


def _is_beyond(path: Path, counts: dict[Path, int]) -> bool:
    """Whether a path leads through an item that its table does not have."""
    return any(isinstance(part, int) and part >= counts.get(path[:at], 0) for at, part in enumerate(path))


def _pointer(above: str, path: Path) -> str:
    for part in path:
        above = pointer_to(above, str(part))
    return above


def _at(place: Place, start: int, number: int) -> str:
    where = f", in record {number}," if number else ""
    return f"{described(place.path)} at offset {start + place.offset:,}{where}"
