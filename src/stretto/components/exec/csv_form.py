"""CSV (RFC 4180): a row, or rows under a name, with or without a header."""

import csv
import io
from collections.abc import Sequence
from types import SimpleNamespace

from stretto.components.exec.codec_of import text_codec
from stretto.components.exec.codecs import (
    Misfits,
    UnreadableError,
    check_once,
    pointer_to,
    rows_of,
    shown,
    unknown_names,
    value_of,
)
from stretto.components.exec.declared_field import Field
from stretto.components.exec.message import LineEnd, Message
from stretto.components.exec.misfit import MisfitError
from stretto.components.exec.scalars import ScalarCodec
from stretto.components.exec.schemas import closed_object, input_schema, output_schema
from stretto.components.exec.texts import text_of
from stretto.types.errors import UsageError
from stretto.types.json import Json, JsonObject


class _Column:
    """One field's column."""

    def __init__(self, field: Field) -> None:
        self.field = field
        self.title = field.column or field.name or (field.constant or "")
        self.codec: ScalarCodec | None = text_codec(field, field.width) if field.name else None

    def write(self, row: JsonObject) -> str:
        """The cell; raises MisfitError."""
        if self.codec is None:
            return self.field.constant or ""
        value = value_of(row, self.field)
        return "" if value is None and self.field.optional else self.codec.write(value)

    def read(self, cell: str) -> Json:
        """The value of a cell; raises MisfitError."""
        if self.codec is None:
            if cell != self.field.constant:
                raise MisfitError(f"the constant '{self.field.constant}'")
            return None
        return None if self.field.optional and not cell.strip() else self.codec.read(cell)


class CsvEncoder:
    """Writes rows."""

    def __init__(self, message: Message) -> None:
        self._message = message
        self._columns = [_Column(field) for field in message.fields]
        self.schema = input_schema([(c.field, c.codec.takes) for c in self._columns if c.codec], message.rows)
        self._check_own_words(message.encoding or "utf-8")

    def _check_own_words(self, encoding: str) -> None:
        """Raise UsageError for what the declaration itself puts into each message, and no bytes of it stand for."""
        titles = [column.title for column in self._columns] if self._message.header else []
        check_once([(title, title) for title in titles], "in the column")
        constants = [column.field.constant or "" for column in self._columns]
        for text in (*titles, *constants, self._message.delimiter, self._message.quote):
            try:
                text.encode(encoding)
            except UnicodeEncodeError as error:
                raise UsageError(
                    f"`request` always holds {shown(text)}, and {encoding} has no {text[error.start]!r}"
                ) from error

    def encode(self, request: JsonObject) -> bytes:
        misfits = Misfits()
        encoding = self._message.encoding or "utf-8"
        cells = [self._cells(row, at, encoding, misfits) for at, row in rows_of(request, self._message.rows, misfits)]
        misfits.raise_if_any()
        titles = [[column.title for column in self._columns]] if self._message.header else []
        return self._written([*titles, *cells]).encode(encoding)

    def _written(self, rows: list[list[str]]) -> str:
        """The rows, each with its line end. A cell that holds a half of one is quoted (RFC 4180, section 2): Python's
        writer quotes those of the line end that it writes itself."""
        lines: list[str] = []
        writer = csv.writer(
            SimpleNamespace(write=lines.append),
            delimiter=self._message.delimiter,
            quotechar=self._message.quote,
            lineterminator=LineEnd.CRLF.text,
        )
        writer.writerows(rows)
        end = (self._message.line_end or LineEnd.LF).text
        return "".join(line.removesuffix(LineEnd.CRLF.text) + end for line in lines)

    def _cells(self, row: JsonObject, pointer: str, encoding: str, misfits: Misfits) -> list[str]:
        unknown_names(row, [column.field for column in self._columns if column.codec], pointer, misfits)
        cells = []
        for column in self._columns:
            try:
                cell = column.write(row)
                cell.encode(encoding)
            except MisfitError as error:
                misfits.add(pointer_to(pointer, column.field.name), value_of(row, column.field), str(error))
            except UnicodeEncodeError as error:
                expected = f"characters of {encoding}, which has no {cell[error.start]!r}"
                misfits.add(pointer_to(pointer, column.field.name), cell, expected)
            else:
                cells.append(cell)
        return cells


class CsvDecoder:
    """Reads rows. Without declared fields each column of the header is text."""

    def __init__(self, message: Message) -> None:
        self._message = message
        self._columns = [_Column(field) for field in message.fields]
        if message.fields:
            self.schema = output_schema([(c.field, c.codec.gives) for c in self._columns if c.codec], message.rows)
        else:
            row: JsonObject = {"type": "object", "additionalProperties": {"type": "string"}}
            rows: JsonObject = {message.rows: {"type": "array", "items": row}}
            self.schema = closed_object(rows, [message.rows]) if message.rows else row

    def decode(self, data: bytes) -> JsonObject:
        lines = self._lines(data)
        columns, order = self._columns, list(range(len(self._columns)))
        if self._message.header:
            if not lines:
                raise UnreadableError("nothing; expected a header and its rows")
            columns, order = self._by_header(lines.pop(0)[1])
        width = None if self._message.header and self._message.fields else len(columns)
        rows: list[JsonObject] = [self._row(line, cells, columns, order, width) for line, cells in lines]
        if self._message.rows:
            return {self._message.rows: [*rows]}
        if len(rows) != 1:
            raise UnreadableError(f"{len(rows)} rows; expected one, or `rows`: the name to list them under")
        return rows[0]

    def _lines(self, data: bytes) -> list[tuple[int, list[str]]]:
        """The cells of each row that is not empty, and the number of its last line."""
        reader = csv.reader(
            io.StringIO(text_of(data, self._message.encoding or "utf-8"), newline=""),
            delimiter=self._message.delimiter,
            quotechar=self._message.quote,
            strict=True,
        )
        try:
            return [(reader.line_num, cells) for cells in reader if cells]
        except csv.Error as error:
            raise UnreadableError(f"line {reader.line_num} is no CSV: {error}") from error

    def _by_header(self, titles: Sequence[str]) -> tuple[list[_Column], list[int]]:
        """The columns in the order of the header, and where each stands."""
        twice = next((title for at, title in enumerate(titles) if title in titles[:at]), None)
        if twice is not None:
            raise UnreadableError(f"the header names the column '{twice}' twice")
        if not self._message.fields:
            return [_Column(Field(name=title)) for title in titles], list(range(len(titles)))
        missing = [column.title for column in self._columns if column.title not in titles]
        if missing:
            raise UnreadableError(
                f"the header {shown(', '.join(titles))} has no column {', '.join(map(shown, missing))}"
            )
        return self._columns, [titles.index(column.title) for column in self._columns]

    def _row(
        self, line: int, cells: list[str], columns: list[_Column], order: list[int], width: int | None
    ) -> JsonObject:
        if (width is not None and len(cells) != width) or (width is None and len(cells) <= max(order)):
            wanted = width if width is not None else max(order) + 1
            raise UnreadableError(f"line {line} has {len(cells)} cells; expected {wanted}")
        row: JsonObject = {}
        for column, at in zip(columns, order, strict=True):
            try:
                value = column.read(cells[at])
            except MisfitError as error:
                what = f"line {line}, column '{column.title}'"
                raise UnreadableError(f"{what} is {shown(cells[at])}; expected {error}") from error
            if column.codec is not None:
                row[column.field.name] = value
        return row
