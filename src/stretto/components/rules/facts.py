"""What is known of the values that come into a node, as a JSON Schema: from the input's, and from tables before it."""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Final

import jsonschema_rs
import msgspec
import orjson

from stretto.components.rules.model import HitPolicy, ModelNode, NodeKind, Table
from stretto.components.rules.references import followed, says_more
from stretto.components.rules.values import Part, Sort
from stretto.types.json import Json, JsonObject, Schema

_PATH: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")

_OF_A_WHOLE_TEXT: Final = frozenset({"pattern", "format", "minLength", "maxLength", "multipleOf"})
"""Keywords under which one text, or number, cannot stand for its neighbours: passed over, so that more is held
possible than is."""

_BOUNDS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")

_LITERAL: Final = re.compile(r"\"[^\"\\]*\"|'[^'\\]*'|-?\d+(?:\.\d+)?|true|false|null")


class FieldFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one field."""

    schema: JsonObject
    """Of its value; empty when nothing is known."""
    may_miss: bool = True
    is_whole: bool = True
    """Nothing else is said of it: no condition, alternative or the like on the way to it, which are not looked into."""


NOTHING_KNOWN: Final = FieldFacts(schema={})


def is_path(field: str) -> bool:
    """Whether a column's field is a plain path into what comes in."""
    return _PATH.fullmatch(field) is not None


def is_sure(output: str) -> bool:
    """Whether an output can be computed whatever comes in: empty, a constant, or a path, which gives null at worst."""
    return not output or is_path(output) or _LITERAL.fullmatch(output) is not None or _is_json(output)


def _is_json(text: str) -> bool:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def field_facts(schema: Schema, path: str) -> FieldFacts:
    """What a schema of the whole says of one path in it."""
    at: Json = dict(schema)
    may_miss, is_whole = False, True
    for part in path.split("."):
        is_whole &= not (isinstance(at, dict) and says_more(at))
        at = followed(at, schema)
        properties = at.get("properties") if isinstance(at, dict) else None
        if not isinstance(at, dict) or not isinstance(properties, dict):
            return FieldFacts(schema={}, is_whole=is_whole)
        is_whole &= not says_more(at)
        if part not in properties:
            closed = at.get("additionalProperties") is False
            return FieldFacts(schema={"not": {}} if closed else {}, is_whole=is_whole)
        required = at.get("required")
        may_miss |= not (isinstance(required, list) and part in required)
        may_miss |= not _is_object(at)
        at = properties[part]
    found = followed(at, schema) if isinstance(at, dict) and [*at] == ["$ref"] else at
    held = _parted(found) if isinstance(found, dict) else {}
    return FieldFacts(schema={**_definitions(schema), **held}, may_miss=may_miss, is_whole=is_whole)


def _definitions(schema: Schema) -> JsonObject:
    """What references inside a schema are to."""
    return {key: schema[key] for key in ("$defs", "definitions") if key in schema}


def _is_object(schema: Mapping[str, Json]) -> bool:
    """Nothing but an object fits; what a schema leaves open at the top is an object in any case."""
    return schema.get("type", "object") == "object"


def _parted(schema: JsonObject) -> JsonObject:
    """The schema without the keywords under which no value can stand for others."""
    return {key: _parted_inside(value) for key, value in schema.items() if key not in _OF_A_WHOLE_TEXT}


def _parted_inside(value: Json) -> Json:
    if isinstance(value, dict):
        return _parted(value)
    return [_parted_inside(item) for item in value] if isinstance(value, list) else value


def constants_in(schema: Json) -> tuple[set[str], set[Decimal]]:
    """The texts and numbers at which a schema may change its mind."""
    texts, numbers = set[str](), set[Decimal]()
    for value in _constants(schema):
        if isinstance(value, str):
            texts.add(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            numbers.add(Decimal(repr(value)))
    return texts, numbers


def _constants(schema: Json) -> Iterator[Json]:
    if isinstance(schema, list):
        for item in schema:
            yield from _constants(item)
    if not isinstance(schema, dict):
        return
    for key, value in schema.items():
        if key == "enum" and isinstance(value, list):
            yield from value
        elif key == "const" or key in _BOUNDS:
            yield value
        else:
            yield from _constants(value)


def seen_by(node: ModelNode, coming: Schema) -> Schema:
    """What the expressions of a node see of what comes into it: all, what its ``inputField`` picks, or each item."""
    seen = coming
    if node.input_field is not None:
        if not is_path(node.input_field.value):
            return {}
        facts = field_facts(coming, node.input_field.value)
        seen = _seen(facts.schema, may_miss=facts.may_miss)
    if not node.loops:
        return seen
    items = seen.get("items")
    if not isinstance(items, dict) or "prefixItems" in seen:
        return {}
    return _seen({**_definitions(seen), **items}, may_miss=False)


def _seen(schema: Schema, *, may_miss: bool) -> Schema:
    """A value as a whole to be looked into: what may be no object lacks every field."""
    is_object = schema.get("type") == "object" and not may_miss
    return schema if is_object or schema.get("type") == "array" else {**schema, "type": ["object", "null"]}


def possible(parts: tuple[Part, ...], facts: FieldFacts) -> frozenset[int]:
    """The indices of the parts that a field may hold a value of."""
    try:
        holds = jsonschema_rs.Draft202012Validator(facts.schema, offline=True)
    except jsonschema_rs.ValidationError:  # a reference to what stands elsewhere in the whole: all is held possible
        holds = jsonschema_rs.Draft202012Validator({})
    return frozenset(
        index
        for index, part in enumerate(parts)
        if (facts.may_miss if part.sort is Sort.MISSING else _may_hold(holds, part, facts))
    )


def _may_hold(holds: jsonschema_rs.Draft202012Validator, part: Part, facts: FieldFacts) -> bool:
    """Lists and objects vary in what they hold, so one stands for none of them: only the type is looked at."""
    if part.sort in (Sort.LIST, Sort.OBJECT):
        kinds = facts.schema.get("type")
        wanted = "array" if part.sort is Sort.LIST else "object"
        if kinds is None:
            return holds.is_valid(part.value)
        return wanted in (kinds if isinstance(kinds, list) else [kinds])
    return holds.is_valid(part.value)


def going_out(node: ModelNode, coming: Schema, *, always: bool) -> Schema:
    """What leaves a node that this comes into; `always` says that each input gets an answer from its table."""
    if node.kind is NodeKind.SWITCH:
        return coming
    if node.table is not None and not (node.loops or node.output_path) and node.table.hit_policy is HitPolicy.FIRST:
        made = _made_by(node.table, always=always)
        return _beside(coming, made) if node.passes_input else made
    return {}


def _made_by(table: Table, *, always: bool) -> JsonObject:
    """What a table writes, as far as its cells are constants."""
    properties: JsonObject = {}
    required: list[Json] = []
    for index, column in enumerate(table.outputs):
        written = [row.outputs[index].value for row in table.rows]
        if "." in column.field:
            return {}
        values = [orjson.loads(_as_json(text)) for text in written if _LITERAL.fullmatch(text)]
        properties[column.field] = {"enum": values} if len(values) == len(written) else {}
        if always and all(written) and "null" not in written and len(values) == len(written):
            required.append(column.field)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _as_json(literal: str) -> str:
    return orjson.dumps(literal[1:-1]).decode() if literal[0] in "\"'" else literal


def _beside(coming: Schema, made: JsonObject) -> Schema:
    """What came in and what was made, side by side; a field that may not have been made holds what came in, or that."""
    before, own = coming.get("properties"), made.get("properties")
    if not isinstance(before, dict) or not isinstance(own, dict):
        return {}
    required = [name for each in (coming, made) for name in _names(each.get("required"))]
    sure = _names(made.get("required"))
    others: Json = {"not": {}} if coming.get("additionalProperties") is False else {}
    written: JsonObject = {
        name: own[name] if name in sure else {"anyOf": [before.get(name, others), own[name]]} for name in own
    }
    return {
        **coming,
        "properties": {**before, **written},
        "required": [*dict.fromkeys(required)],
    }


def _names(value: Json) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
