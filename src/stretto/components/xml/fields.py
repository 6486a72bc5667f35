"""Values found in a document by XPath 1.0, each as its JSON type."""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from stretto.components.xml.parse import MAX_QUOTED_CHARS, Element
from stretto.spec.fields import object_schema
from stretto.spec.shorthand import or_null
from stretto.types.arguments import INT64_MAX, INT64_MIN
from stretto.types.json import Json, JsonObject

NIL: Final = "{http://www.w3.org/2001/XMLSchema-instance}nil"
"""An element that says of itself that it has no value: XML Schema part 1, section 2.6.2."""

_WHOLE: Final = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_BOOLEANS: Final = {"true": True, "1": True, "false": False, "0": False}
"""XML Schema part 2, section 3.2.2.1."""


class FieldError(Exception):
    """What stands in a document is not what was declared; the message says where and what."""


class XmlField(msgspec.Struct, frozen=True, kw_only=True):
    """One value, or a list of them, and where it is found."""

    path: str
    find: Any  # lxml's compiled expression
    schema: JsonObject
    """Of the value that is made, null left out."""
    optional: bool
    many: bool
    """A list of all that is found."""
    fields: "Mapping[str, XmlField] | None" = None
    """Of an object: looked for from each element that is found."""

    def read(self, element: Element) -> Json:
        """The value. Raises FieldError."""
        found = self.find(element)
        nodes = found if isinstance(found, list) else [found]
        values = [self._one(node) for node in nodes]
        if self.many:
            return values
        if len(values) > 1:
            raise FieldError(
                f"`{self.path}` found {len(values)} values where one was expected; `({self.path})[1]` is the first"
            )
        if not values or values[0] is None:
            if self.optional:
                return None
            raise FieldError(f"`{self.path}` found nothing")
        return values[0]

    def _one(self, node: Any) -> Json:
        if self.fields is not None:
            if isinstance(node, str | float | bool | tuple):
                raise FieldError(f"`{self.path}` found no element, and its fields are looked for inside one")
            return read_fields(self.fields, node)
        text = text_of(node)
        return None if text is None else self._converted(text)

    def _converted(self, text: str) -> Json:
        schema = self.schema.get("items", {}) if self.many else self.schema
        kind = schema.get("type") if isinstance(schema, dict) else None
        if not text.strip() and self.optional and kind in ("integer", "number", "boolean"):
            return None
        try:
            return convert(text, kind)
        except ValueError as error:
            raise FieldError(f"`{self.path}` found {text[:MAX_QUOTED_CHARS]!r}, which is {error}") from error


def read_fields(fields: Mapping[str, XmlField], element: Element) -> JsonObject:
    """Every field. Raises FieldError for the first that is not as declared."""
    return {name: field.read(element) for name, field in fields.items()}


def read_what_is_there(fields: Mapping[str, XmlField], element: Element) -> tuple[JsonObject, str]:
    """Every field, null where it is not as declared, and what was first wrong; empty when nothing was."""
    values: JsonObject = {}
    trouble = ""
    for name, field in fields.items():
        try:
            values[name] = field.read(element)
        except FieldError as error:
            values[name] = None
            trouble = trouble or str(error)
    return values, trouble


def schema_of(fields: Mapping[str, XmlField]) -> JsonObject:
    """The schema of the object that is made."""
    return object_schema(
        {
            name: (or_null(field.schema) if field.optional else field.schema, field.optional)
            for name, field in fields.items()
        }
    )


def text_of(node: Any) -> str | None:
    """What an XPath expression found, as text; None for an element that says that it is nil, and for no number."""
    if isinstance(node, str):
        return node
    if isinstance(node, bool):
        return "true" if node else "false"
    if isinstance(node, float):
        if math.isnan(node):
            return None
        return str(int(node)) if node.is_integer() else repr(node)
    if isinstance(node, tuple):
        raise FieldError(f"a namespace was found, {node}, which is no element, attribute or text")
    if node.get(NIL) in ("true", "1"):
        return None
    return "".join(node.itertext())


def convert(text: str, kind: Json) -> Json:
    """Text as a JSON type, as XML Schema writes it. Raises ValueError, which says what it is not."""
    if kind == "integer":
        return _whole(text.strip())
    if kind == "number":
        return _number(text.strip())
    if kind == "boolean":
        found = _BOOLEANS.get(text.strip())
        if found is None:
            raise ValueError("neither true nor false")
        return found
    return text


def _whole(text: str) -> int:
    if not _WHOLE.fullmatch(text) or not INT64_MIN <= int(text) <= INT64_MAX:
        raise ValueError("no whole number of 64 bits")
    return int(text)


def _number(text: str) -> float:
    if "_" in text or not text.isascii():
        raise ValueError("no number")
    try:
        number = float(text)
    except ValueError:
        raise ValueError("no number") from None
    if not math.isfinite(number):
        raise ValueError("no finite number, and JSON has no other")
    return number


def missing_prefixes(path: str, namespaces: Iterable[str]) -> list[str]:
    """Prefixes that an expression uses and nobody declared, in order."""
    without_text = re.sub(r"'[^']*'|\"[^\"]*\"", "", path)
    used = re.findall(r"(?<![\w.-])([A-Za-z_][\w.-]*):(?!:)", without_text)
    return [prefix for prefix in dict.fromkeys(used) if prefix not in {"xml", *namespaces}]
