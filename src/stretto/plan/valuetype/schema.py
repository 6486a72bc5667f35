"""Reads a JSON Schema 2020-12 document as a type. What it cannot read becomes dyn, never a narrower type."""

from collections.abc import Mapping
from functools import reduce
from typing import Final

import orjson
from msgspec.structs import replace

from stretto.plan.valuetype.flow import may_be_null
from stretto.plan.valuetype.model import BOOL, DYN, ENUM, FLOAT, INT, NULL, OPAQUE, STRING, Kind, ValueType, join
from stretto.types.json import Json, Schema

NAMED_TYPES: Final = {
    "null": NULL,
    "boolean": BOOL,
    "integer": INT,
    "number": FLOAT,
    "string": STRING,
    "array": ValueType(kind=Kind.ARRAY, item=DYN),
    "object": ValueType(kind=Kind.OBJECT, rest=DYN),
}

CONSTRAINTS: Final = (
    *("minLength", "maxLength", "pattern", "format"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "dependentRequired"),
)
"""Keywords that refuse values in a way that a type does not show, and whose meaning depends on no other keyword."""

OPAQUE_KEYWORDS: Final = (
    *("not", "if", "then", "else", "$dynamicRef", "propertyNames", "patternProperties", "dependentSchemas"),
    *("prefixItems", "contains", "minContains", "maxContains", "unevaluatedItems", "unevaluatedProperties"),
)
"""Keywords whose meaning hangs on others beside them, so that finding the same text elsewhere proves nothing."""

UNTYPED_KEYWORDS: Final = ("properties", "required", "additionalProperties", "items")
"""Without a `type` these leave values of every other type in, so the value is dyn, and opaque."""

MAX_EXPANSIONS: Final = 2_000
"""Schemas read from one document, references followed each time. A wider one is dyn beyond; none met in use is."""


def from_schema(schema: Schema | bool) -> ValueType:
    """The type of the values that a schema allows.

    A top-level schema with `properties` and no `type` is taken as an object's, since that is all that passes
    between components. An object with declared properties and no word on others has no others *to read*.
    """
    if isinstance(schema, bool):
        return DYN
    top = dict(schema)
    if "properties" in top and "type" not in top:
        top["type"] = "object"
    return _Reader(top).read(top, ())


class _Reader:
    """Reads one document; remembers how much it has read, so that references cannot blow it up."""

    def __init__(self, document: Mapping[str, Json]) -> None:
        self._document = document
        self._left = MAX_EXPANSIONS

    def read(self, schema: Json, following: tuple[str, ...]) -> ValueType:
        """`following` are the references that led here: one that leads to itself is a recursive type, and dyn."""
        self._left -= 1
        if not isinstance(schema, dict) or self._left < 0:
            return DYN if schema is True else _opaque(DYN)
        parts = [self._by_type(schema, following), self._by_values(schema)]
        if isinstance(reference := schema.get("$ref"), str):
            parts.append(self._referred(reference, following))
        if isinstance(every := schema.get("allOf"), list):
            parts.extend(self.read(one, following) for one in every)
        if isinstance(choices := schema.get("anyOf"), list) and choices:
            parts.append(_any_of([self.read(one, following) for one in choices]))
        if isinstance(choices := schema.get("oneOf"), list) and choices:
            parts.append(_one_of([self.read(one, following) for one in choices]))
        return reduce(_both, parts)

    def _by_type(self, schema: Mapping[str, Json], following: tuple[str, ...]) -> ValueType:
        named = schema.get("type", [])
        names = [named] if isinstance(named, str) else named if isinstance(named, list) else []
        known = [NAMED_TYPES[name] for name in names if isinstance(name, str) and name in NAMED_TYPES]
        base = _any_of(known) if known else DYN
        if base.kind is Kind.OBJECT:
            base = self._object(base, schema, following)
        elif base.kind is Kind.ARRAY and "items" in schema and "prefixItems" not in schema:
            base = replace(base, item=self.read(schema["items"], following))
        return _constrained(base, schema)

    def _object(self, base: ValueType, schema: Mapping[str, Json], following: tuple[str, ...]) -> ValueType:
        declared = schema.get("properties")
        fields = (
            {name: self.read(one, following) for name, one in declared.items()} if isinstance(declared, dict) else {}
        )
        required = schema.get("required")
        names = {name for name in required if isinstance(name, str)} if isinstance(required, list) else set()
        others = schema.get("additionalProperties")
        rest: ValueType | None = None if fields else DYN
        if "patternProperties" in schema:
            rest = DYN
        elif others is False:
            rest = None
        elif others is not None:
            rest = self.read(others, following)
        sealed = others is False and "patternProperties" not in schema
        for name in names - fields.keys():
            fields[name] = rest or DYN
        return replace(base, fields=fields, required=frozenset(names), rest=rest, sealed=sealed)

    def _by_values(self, schema: Mapping[str, Json]) -> ValueType:
        if "const" in schema:
            return _type_of_values([schema["const"]])
        listed = schema.get("enum")
        return _type_of_values(listed) if isinstance(listed, list) and listed else DYN

    def _referred(self, reference: str, following: tuple[str, ...]) -> ValueType:
        if reference in following or not reference.startswith("#"):
            return _opaque(DYN)
        target: Json = dict(self._document)
        for step in reference[1:].split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(target, dict) or name not in target:
                return _opaque(DYN)
            target = target[name]
        return self.read(target, (*following, reference))


def _type_of_values(values: list[Json]) -> ValueType:
    """The type of exactly these values. Only strings are kept one by one; others become a constraint."""
    found = reduce(join, map(_type_of_value, values))
    booleans = {value for value in values if isinstance(value, bool)}
    if found.kind in (Kind.STRING, Kind.NULL) or (found.kind is Kind.BOOL and len(booleans) == 2):
        return found
    return replace(found, constraints=frozenset({(ENUM, _text(values))}))


def _type_of_value(value: Json) -> ValueType:
    match value:
        case None:
            return NULL
        case bool():
            return BOOL
        case int():
            return INT
        case float():
            return FLOAT
        case str():
            return ValueType(kind=Kind.STRING, values=(value,))
        case list():
            return ValueType(kind=Kind.ARRAY, item=DYN)
        case _:
            return ValueType(kind=Kind.OBJECT, rest=DYN)


def _any_of(types: list[ValueType]) -> ValueType:
    """The join; opaque where it holds more than the values of the types, so that nothing is proved to fit it."""
    joined = reduce(join, types)
    others = [one for one in types if one.kind is not Kind.NULL]
    exact = len(others) <= 1 and all(one.constraints <= joined.constraints for one in others)
    return joined if exact else _opaque(joined)


def _one_of(types: list[ValueType]) -> ValueType:
    """As `_any_of`; a value that fits two of the choices is refused, so only one type beside null is seen through."""
    nulls = sum(may_be_null(one) for one in types)
    return _any_of(types) if nulls <= 1 else _opaque(_any_of(types))


def _both(one: ValueType, other: ValueType) -> ValueType:
    """The values that belong to both types, as far as it can be told; never fewer."""
    constraints = one.constraints | other.constraints
    if Kind.DYN in (one.kind, other.kind):
        return replace(other if one.kind is Kind.DYN else one, constraints=constraints)
    if Kind.NULL in (one.kind, other.kind):
        is_null = all(side.kind is Kind.NULL or side.nullable for side in (one, other))
        return replace(NULL, constraints=constraints) if is_null else _opaque(DYN)
    nullable = one.nullable and other.nullable
    if {one.kind, other.kind} == {Kind.INT, Kind.FLOAT}:
        return replace(INT, nullable=nullable, constraints=constraints)
    if one.kind is not other.kind:
        return _opaque(DYN)  # nothing belongs to both: a schema that refuses everything
    if one.kind is Kind.OBJECT:
        return replace(_both_objects(one, other), nullable=nullable, constraints=constraints)
    item = _both(one.item or DYN, other.item or DYN) if one.kind is Kind.ARRAY else None
    values = (
        tuple(v for v in one.values if v in other.values) if one.values and other.values else one.values or other.values
    )
    return ValueType(kind=one.kind, nullable=nullable, item=item, values=values, constraints=constraints)


def _both_objects(one: ValueType, other: ValueType) -> ValueType:
    fields = {**one.fields, **other.fields}
    for name in one.fields.keys() & other.fields.keys():
        fields[name] = _both(one.fields[name], other.fields[name])
    sealed = one.sealed or other.sealed
    # `type: object` alone has no opinion on names: it leaves the naming of fields to the other side.
    opinions = [side.rest for side in (one, other) if side.rest is not None and (side.fields or side.rest != DYN)]
    rest = None if sealed else opinions[0] if opinions else None if fields else DYN
    return ValueType(kind=Kind.OBJECT, fields=fields, required=one.required | other.required, rest=rest, sealed=sealed)


def _constrained(base: ValueType, schema: Mapping[str, Json]) -> ValueType:
    found = {(keyword, _text(schema[keyword])) for keyword in CONSTRAINTS if keyword in schema}
    untyped = base.kind is Kind.DYN and any(keyword in schema for keyword in UNTYPED_KEYWORDS)
    if untyped or any(keyword in schema for keyword in OPAQUE_KEYWORDS):
        found.add((OPAQUE, ""))
    return replace(base, constraints=base.constraints | found) if found else base


def _opaque(base: ValueType) -> ValueType:
    return replace(base, constraints=base.constraints | {(OPAQUE, "")})


def _text(value: Json) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
