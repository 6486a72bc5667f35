"""How a declaration says where values stand in XML: by XPath, with types in shorthand."""

from collections.abc import Mapping
from typing import Final

import msgspec

from stretto.components.option_shapes import ANY_TEXT
from stretto.components.xml.fields import XmlField, missing_prefixes, schema_of
from stretto.spec.codes import SpecCode
from stretto.spec.fields import FIELD_TYPE, FieldType
from stretto.spec.nested import Entries
from stretto.spec.nodes import MapNode, Node, ScalarNode
from stretto.spec.records import Fields, Forward, Key, Record
from stretto.spec.report import Report
from stretto.spec.shapes import Shape, Text, wrong_type
from stretto.spec.source import Located
from stretto.types.json import Json, JsonObject

_XPATH: Final = Text(expected="an XPath 1.0 expression, as in //b:balance")

TEXT_TYPE: Final[FieldType] = ({"type": "string"}, False)


class XPathSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One field as it was written."""

    path: Located[str]
    type: FieldType | None = None
    many: bool = False
    fields: "tuple[tuple[str, XPathSpec], ...] | None" = None


class XPathShape:
    """An expression, or one with the type or the fields of what it finds."""

    def read(self, node: Node, name: str, report: Report) -> XPathSpec | None:
        if isinstance(node, MapNode):
            return XPATH_RECORD.read(node, name, report)
        if isinstance(node, ScalarNode) and isinstance(node.value, str):
            path = _XPATH.read(node, name, report)
            return None if path is None else XPathSpec(path=path)
        report.add(wrong_type(node, name, "an XPath expression, or {path: ..., type: ...}"))
        return None

    def schema(self, defs: JsonObject) -> JsonObject:
        return {"anyOf": [_XPATH.schema(defs), XPATH_RECORD.schema(defs)]}


def _pair(key: Located[str], value: XPathSpec) -> tuple[str, XPathSpec]:
    return key.value, value


def _fields_shape() -> Shape[tuple[tuple[str, XPathSpec], ...]]:
    return XPATH_FIELDS


XPATH_FIELDS: Final = Entries(key=ANY_TEXT, value=XPathShape(), build=_pair, what="fields and where they are found")

PATH: Final = Key("path", _XPATH, means="where the one value is found", example='path: "//b:balance"', also=("xpath",))
EACH: Final = Key(
    "each", _XPATH, means="where the elements are found, one for each item of a list", example='each: "//b:line"'
)
TYPE: Final = Key("type", FIELD_TYPE, means="its type, as in a contract; text when absent", example="type: float")
FIELDS: Final = Key(
    "fields",
    Forward(_fields_shape),
    means="fields of an object, looked for from the element that was found",
    example='fields: { sku: "@sku", count: { path: "b:count", type: int } }',
)


def _build(fields: Fields) -> XPathSpec | None:
    path, each, kind, inside = fields.get(PATH), fields.get(EACH), fields.get(TYPE), fields.get(FIELDS)
    if (PATH in fields) == (EACH in fields):
        message = "a value is found by one of `path` and `each`"
        fields.report.add(fields.node.span.problem(SpecCode.CONFLICT, message, expected="one of the two"))
        return None
    if FIELDS in fields and TYPE in fields:
        fields.problem(
            TYPE, SpecCode.CONFLICT, "what has `fields` is an object, and needs no `type`", expected="one of the two"
        )
        return None
    found = each if path is None else path
    if found is None:
        return None
    return XPathSpec(path=found, type=kind, many=EACH in fields, fields=inside)


XPATH_RECORD: Final = Record(
    "xpath", means="A value in XML.", keys=(PATH, EACH, TYPE, FIELDS), build=_build, is_thing=False, may_be_empty=False
)


def compile_fields(
    specs: tuple[tuple[str, XPathSpec], ...], namespaces: Mapping[str, str], declared: Json, report: Report
) -> dict[str, XmlField]:
    """Compile fields; `declared` is the schema of the object where one is known, which gives types that are not
    written."""
    known = declared.get("properties") if isinstance(declared, dict) else None
    required = declared.get("required") if isinstance(declared, dict) else None
    schemas = known if isinstance(known, dict) else {}
    needed = required if isinstance(required, list) else []
    compiled = {}
    for name, spec in specs:
        schema = schemas.get(name)
        inferred: FieldType = (_without_null(schema), name not in needed) if isinstance(schema, dict) else TEXT_TYPE
        field = _field(spec, namespaces, inferred, report)
        if field is not None:
            compiled[name] = field
    return compiled


def _field(spec: XPathSpec, namespaces: Mapping[str, str], inferred: FieldType, report: Report) -> XmlField | None:
    from lxml import etree

    missing = missing_prefixes(spec.path.value, namespaces)
    if missing:
        message = f"the prefix '{missing[0]}' in '{spec.path.value}' stands for no namespace"
        suggestion = f'namespaces: {{ {missing[0]}: "urn:..." }}'
        place = spec.path.part(spec.path.value.find(f"{missing[0]}:"), len(missing[0]))
        report.add(place.problem(SpecCode.VALUE, message, expected="a prefix of `namespaces`", suggestion=suggestion))
        return None
    try:
        find = etree.XPath(spec.path.value, namespaces=dict(namespaces) or None, smart_strings=False)
        find(etree.Element("none"))
    except (etree.XPathError, ValueError) as error:  # ValueError: a character that XML cannot hold
        message = f"'{spec.path.value}' is no XPath 1.0: {error}"
        report.add(spec.path.span.problem(SpecCode.VALUE, message, expected=_XPATH.expected))
        return None
    return _typed(spec, find, namespaces, inferred, report)


def _typed(
    spec: XPathSpec, find: object, namespaces: Mapping[str, str], inferred: FieldType, report: Report
) -> XmlField:
    schema, optional = spec.type or inferred
    path, many = spec.path.value, spec.many
    if spec.fields is None:
        listed = schema.get("type") == "array" and not many
        whole: JsonObject = {"type": "array", "items": schema} if many and schema.get("type") != "array" else schema
        return XmlField(path=path, find=find, schema=_without_null(whole), optional=optional, many=many or listed)
    of_one = schema.get("items", {}) if many else schema
    fields = compile_fields(spec.fields, namespaces, of_one if spec.type is None else None, report)
    one = schema_of(fields)
    made: JsonObject = {"type": "array", "items": one} if many else one
    optional = optional and not many
    return XmlField(path=path, find=find, schema=made, optional=optional, many=many, fields=fields)


def _without_null(schema: JsonObject) -> JsonObject:
    """What the value is when there is one."""
    kind = schema.get("type")
    if isinstance(kind, list):
        rest = [each for each in kind if each != "null"]
        return {**schema, "type": rest[0] if len(rest) == 1 else rest}
    choices = schema.get("anyOf")
    if isinstance(choices, list):
        rest = [each for each in choices if each != {"type": "null"}]
        if len(rest) == 1 and isinstance(rest[0], dict):
            return rest[0]
    return schema
