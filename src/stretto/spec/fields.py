"""The fields of an input or output, in shorthand or as plain JSON Schema, to one JSON Schema."""

from typing import Final

from stretto.spec.codes import SpecCode
from stretto.spec.contract_model import SchemaSpec
from stretto.spec.json_schema import check_json_schema
from stretto.spec.nodes import MapNode, Node, ScalarNode, quote, to_json_object
from stretto.spec.plain_schema import SCHEMA_KEY, ambiguous_word, is_json_schema, plain_schema_schema
from stretto.spec.records import Fields, Key, Record
from stretto.spec.report import Report
from stretto.spec.shapes import wrong_type
from stretto.spec.shorthand import PATTERN, ShorthandError, or_null, read_type
from stretto.spec.source import Located
from stretto.spec.suggest import nearest
from stretto.spec.texts import PROSE
from stretto.types.errors import Problem
from stretto.types.json import Json, JsonObject

FieldType = tuple[JsonObject, bool]
"""A schema, and whether the field may be missing."""

_EXPECTED: Final = "a type like string[1,512], a mapping of fields, or {type: ..., means: ...}"


class TypeText:
    """A type in shorthand."""

    def read(self, node: Node, name: str, report: Report) -> FieldType | None:
        if not isinstance(node, ScalarNode) or not isinstance(node.value, str) or not node.value.strip():
            report.add(wrong_type(node, name, _EXPECTED))
            return None
        try:
            return read_type(node.value)
        except ShorthandError as error:
            place = Located(node.value, node.span).part(error.offset, error.width)
            whole = quote(node.value)
            message = error.message if whole in error.message else f"{error.message}, in the type {whole}"
            report.add(place.problem(SpecCode.SHORTHAND, message, expected=error.expected, suggestion=error.suggestion))
            return None

    def schema(self, _defs: JsonObject) -> JsonObject:
        return {"type": "string", "pattern": PATTERN}


class FieldMap:
    """Named fields, and no others."""

    def read(self, node: Node, name: str, report: Report) -> JsonObject | None:
        if not isinstance(node, MapNode):
            report.add(wrong_type(node, name, "a mapping of fields and their types"))
            return None
        if not node.entries:
            message = f"`{name}` declares no field, so nothing would be checked"
            suggestion = "name its fields, or remove it"
            report.add(
                node.span.problem(
                    SpecCode.CONTRACT_EMPTY, message, expected="at least one field", suggestion=suggestion
                )
            )
            return None
        fields = {field: FIELD_TYPE.read(entry.node, field, report) for field, entry in node.entries.items()}
        return object_schema({field: kind for field, kind in fields.items() if kind is not None})

    def schema(self, defs: JsonObject) -> JsonObject:
        return {"type": "object", "minProperties": 1, "additionalProperties": FIELD_TYPE.schema(defs)}


class FieldTypeShape:
    """What stands for one field's type: shorthand, shorthand with a meaning, fields, or plain JSON Schema."""

    def read(self, node: Node, name: str, report: Report) -> FieldType | None:
        if not isinstance(node, MapNode):
            return TYPE_TEXT.read(node, name, report)
        if is_json_schema(node):
            schema = json_schema_of(node, report)
            return None if schema is None else (schema, False)
        if is_long_form(node):
            return LONG_FORM.read(node, name, report)
        fields = FIELD_MAP.read(node, name, report)
        return None if fields is None else (fields, False)

    def schema(self, defs: JsonObject) -> JsonObject:
        if "type" not in defs:
            defs["type"] = {}  # taken first, since fields have types in turn
            defs["type"] = {
                "anyOf": [TYPE_TEXT.schema(defs), LONG_FORM.schema(defs), plain_schema_schema(), FIELD_MAP.schema(defs)]
            }
        return {"$ref": "#/$defs/type"}


class SchemaShape:
    """The input or the output of a workflow: always a JSON object."""

    def read(self, node: Node, name: str, report: Report) -> SchemaSpec | None:
        if isinstance(node, MapNode) and is_json_schema(node):
            schema = json_schema_of(node, report)
            if schema is not None:
                _check_says_something(schema, node, name, report)
        elif isinstance(node, MapNode) and (word := ambiguous_word(node)):
            report.add(_two_readings(node, name, word))
            return None
        else:
            schema = FIELD_MAP.read(node, name, report)
        return SchemaSpec(schema=schema) if schema is not None and isinstance(node, MapNode) else None

    def schema(self, defs: JsonObject) -> JsonObject:
        return {"anyOf": [plain_schema_schema(), FIELD_MAP.schema(defs)]}


_SAYS_NOTHING: Final = frozenset(
    {"type", "$schema", "$id", "$anchor", "$defs", "$comment", "title", "description", "examples", "default"}
)
"""Keys of a JSON Schema that refuse no object."""


def object_schema(fields: dict[str, FieldType]) -> JsonObject:
    """An object of these fields and no others."""
    properties: JsonObject = {name: schema for name, (schema, _) in fields.items()}
    required: list[Json] = [name for name, (_, optional) in fields.items() if not optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def is_long_form(node: MapNode) -> bool:
    """It is ``{type: ..., means: ...}`` rather than fields, one of which happens to be called ``type``.

    A key that is nearly one of the long form's, and whose value is no type, is taken for a slip.
    """
    others = ((key, entry.node) for key, entry in node.entries.items() if key not in LONG_FORM.keys)
    slips = all(nearest(key, LONG_FORM.keys) and not _is_type(value) for key, value in others)
    return isinstance(node.get("type"), ScalarNode) and slips


def json_schema_of(node: MapNode, report: Report) -> JsonObject | None:
    """The plain JSON Schema that a mapping holds, or None after reporting what is wrong with it."""
    inner = node.get(SCHEMA_KEY) if len(node.entries) == 1 else None
    holder = inner if isinstance(inner, MapNode) else node
    schema = to_json_object(holder)
    return schema if check_json_schema(holder, schema, report) else None


def _two_readings(node: MapNode, name: str, word: str) -> Problem:
    """Neither is guessed: the one would check something else than the other."""
    return node.entries["type"].key.problem(
        SpecCode.SCHEMA,
        f"`{name}` with `type: {word}` may be plain JSON Schema, or fields of which one is called `type`",
        expected=f"plain JSON Schema as `{name}: {{schema: {{...}}}}`, or the field as `type: {{type: {word}}}`",
    )


def _check_says_something(schema: JsonObject, node: MapNode, name: str, report: Report) -> None:
    kind = schema.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        message = f"`{name}` is always an object, and this schema wants {quote(str(kind))}"
        report.add(node.span.problem(SpecCode.SCHEMA, message, expected="type: object"))
    elif not set(schema) - _SAYS_NOTHING:
        message = f"the schema of `{name}` takes every object, so nothing would be checked"
        report.add(
            node.span.problem(
                SpecCode.CONTRACT_EMPTY,
                message,
                expected="a schema that can say no",
                suggestion="name its properties, or remove it",
            )
        )


def _long_form(fields: Fields) -> FieldType | None:
    kind, means, inner = fields.get(TYPE), fields.get(MEANS), fields.get(FIELDS)
    if kind is None:
        return None
    schema, optional = kind
    if FIELDS in fields:
        if "object" not in (schema.get("type"), *_list(schema.get("type"))):
            fields.problem(FIELDS, SpecCode.NO_EFFECT, "only an object has `fields`", expected="type: object")
        elif inner is not None:
            schema = or_null(inner) if optional else inner
    return ({**schema, "description": means.value} if means else schema), optional


def _is_type(node: Node) -> bool:
    try:
        return isinstance(node, ScalarNode) and bool(read_type(node.text))
    except ShorthandError:
        return False


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


TYPE_TEXT: Final = TypeText()
FIELD_MAP: Final = FieldMap()
FIELD_TYPE: Final = FieldTypeShape()

TYPE: Final = Key("type", TYPE_TEXT, means="the type, in shorthand", example="type: string", required=True)
MEANS: Final = Key("means", PROSE, means="what the value means, in words", example='means: "what the customer reads"')
FIELDS: Final = Key("fields", FIELD_MAP, means="the fields of an object", example="fields: {id: string}")
LONG_FORM: Final = Record("field", means="a type with its meaning", keys=(TYPE, MEANS, FIELDS), build=_long_form)
