"""XML: each field an element or an attribute."""

import codecs
import re
from typing import Final

from stretto.components.exec.codec_of import text_codec, wrong_field
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
from stretto.components.exec.message import Message
from stretto.components.exec.misfit import MisfitError
from stretto.components.exec.scalars import ScalarCodec
from stretto.components.exec.schemas import input_schema, output_schema
from stretto.components.exec.texts import text_of
from stretto.components.exec.xml_path import XmlPath, made
from stretto.components.xml.parse import Element, XmlError, check_installed, parse_xml
from stretto.types.errors import UsageError
from stretto.types.json import Json, JsonObject

_CONTROL: Final = {chr(code) for code in range(32)} - {"\t", "\n", "\r"} | {"\ufffe", "\uffff"}
"""What no XML can hold (XML 1.0, section 2.2); lone surrogates cannot come this far."""


_WIDE: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""How a document in UTF-16 begins, whose white space is no single bytes."""


def _charset(encoding: str) -> str:
    """An encoding of Python's by the name that others know it by (IANA, Character Sets)."""
    name = codecs.lookup(encoding).name
    return re.sub(r"^cp(?=125\d$)", "windows-", re.sub(r"^iso8859-", "iso-8859-", name.removesuffix("-sig")))


class _Part:
    """One field and its path."""

    def __init__(self, field: Field, message: Message) -> None:
        self.field = field
        label = f"`path` of field '{field.name}'" if field.name else "`path` of a constant"
        self.path = XmlPath(field.path or field.name, message.namespaces, label)
        self.codec: ScalarCodec | None = text_codec(field, field.width) if field.name else None
        if _CONTROL & set(field.constant or ""):
            raise wrong_field(field, f"is {field.constant!r}, and XML cannot hold control characters")

    def write(self, row: JsonObject) -> str | None:
        """The text; None for an optional field that is null. Raises MisfitError."""
        if self.codec is None:
            return self.field.constant
        value = value_of(row, self.field)
        if value is None and self.field.optional:
            return None
        text = self.codec.write(value)
        if _CONTROL & set(text):
            raise MisfitError("text without control characters, which XML cannot hold")
        return text

    def read(self, text: str) -> Json:
        """The value. Raises MisfitError."""
        if self.codec is not None:
            return self.codec.read(text)
        if text != self.field.constant:
            raise MisfitError(f"the constant '{self.field.constant}'")
        return None


class XmlEncoder:
    """Writes a document of a root, the fields below it, or rows of them, on one line."""

    def __init__(self, message: Message) -> None:
        check_installed("`format: xml` of what a program reads")
        root = XmlPath(message.root, message.namespaces, "`root`")
        if root.attribute or len(root.steps) != 1:
            raise UsageError(f"`root` is '{message.root}'; expected the name of one element")
        (self._root,) = root.steps
        self._message = message
        self._each = XmlPath(message.each or "row", message.namespaces, "`each`")
        self._parts = [_Part(field, message) for field in message.fields]
        paths = [part.path for part in self._parts]
        check_once([((*path.steps, path.attribute), path.text) for path in paths], "at the path")
        self._empty()
        self.schema = input_schema([(p.field, p.codec.takes) for p in self._parts if p.codec], message.rows)

    def encode(self, request: JsonObject) -> bytes:
        from lxml import etree

        misfits = Misfits()
        root = self._empty()
        for pointer, row in rows_of(request, self._message.rows, misfits):
            self._put(root if not self._message.rows else self._new_row(root), row, pointer, misfits)
        misfits.raise_if_any()
        encoding = self._message.encoding or "utf-8"
        text: str = etree.tostring(root, encoding="unicode")
        declared = f'<?xml version="1.0" encoding="{_charset(encoding)}"?>'
        return f"{declared}{text}\n".encode(encoding, "xmlcharrefreplace")

    def _empty(self) -> Element:
        """The outermost element. Raises UsageError for namespaces that no document can hold."""
        from lxml import etree

        try:
            return etree.Element(self._root, nsmap=dict(self._message.namespaces))
        except ValueError as error:
            raise UsageError(f"`namespaces` of `request` cannot be written: {error}") from error

    def _new_row(self, root: Element) -> Element:
        *outer, last = self._each.steps
        above = made(root, outer)
        row = above.makeelement(last)
        above.append(row)
        return row

    def _put(self, element: Element, row: JsonObject, pointer: str, misfits: Misfits) -> None:
        unknown_names(row, [part.field for part in self._parts if part.codec], pointer, misfits)
        for part in self._parts:
            try:
                text = part.write(row)
            except MisfitError as error:
                misfits.add(pointer_to(pointer, part.field.name), value_of(row, part.field), str(error))
                continue
            if text is None:
                continue
            place = part.path.made_below(element)
            if part.path.attribute:
                place.set(part.path.attribute, text)
            else:
                place.text = text


class XmlDecoder:
    """Reads the fields out of a document. Spaces around a value are not part of it."""

    def __init__(self, message: Message) -> None:
        check_installed("`format: xml` of a program's answer")
        self._message = message
        self._each = XmlPath(message.each or "row", message.namespaces, "`each`")
        self._parts = [_Part(field, message) for field in message.fields]
        paths = [part.path for part in self._parts]
        self._shared = {path for path in paths if any(path.leads_to(other) for other in paths)}
        self.schema = output_schema([(p.field, p.codec.gives) for p in self._parts if p.codec], message.rows)

    def decode(self, data: bytes) -> JsonObject:
        try:
            document, charset = self._decoded(data)
            root = parse_xml(document, charset=charset)
        except XmlError as error:
            raise UnreadableError(str(error)) from error
        local = root.tag.rpartition("}")[2]
        if self._message.root and local != self._message.root.rpartition(":")[2]:
            raise UnreadableError(f"the outermost element is <{local}>; expected <{self._message.root}>")
        if not self._message.rows:
            return self._row(root, "")
        elements = self._each.elements(root)
        rows: list[Json] = [self._row(element, f" in row {number}") for number, element in enumerate(elements, 1)]
        return {self._message.rows: rows}

    def _decoded(self, data: bytes) -> tuple[bytes, str]:
        """The document and its charset; empty where it says that itself."""
        if self._message.encoding:  # libxml2 knows fewer, and by other names
            return text_of(data, self._message.encoding).strip().encode(), "utf-8"
        return data if data.startswith(_WIDE) else data.strip(), ""

    def _row(self, above: Element, where: str) -> JsonObject:
        row: JsonObject = {}
        for part in self._parts:
            value = self._value(part, above, where)
            if part.codec is not None:
                row[part.field.name] = value
        return row

    def _value(self, part: _Part, above: Element, where: str) -> Json:
        path, is_shared = part.path.text, part.path in self._shared
        texts = [part.path.text_of(element, is_shared=is_shared) for element in part.path.elements(above)]
        found = [text for text in texts if text is not None]
        if len(found) > 1:
            raise UnreadableError(f"{path}{where} stands {len(found)} times; expected once")
        text = found[0].strip() if found else None
        if not text and part.field.optional:
            return None
        if text is None:
            raise UnreadableError(f"{path}{where} is missing")
        try:
            return part.read(text)
        except MisfitError as error:
            raise UnreadableError(f"{path}{where} is {shown(text)}; expected {error}") from error
