"""The lattice of JSON types: null, bool, int, float, string, array, object, and dyn, which is any of them."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final, TypeAlias

import msgspec
from msgspec.structs import replace

from stretto.types.json import PathPart

Constraint: TypeAlias = tuple[str, str]
"""A JSON Schema keyword and its value as canonical text: ``("minLength", "1")``."""

OPAQUE: Final = "$opaque"
"""Keyword of a constraint that nothing is known to imply: what is behind it is only found out at run time."""

ENUM: Final = "enum"
"""Keyword of a constraint that lists the values allowed, where they are not strings."""

BINDS_NULL: Final = frozenset({OPAQUE, ENUM})
"""Constraints that also speak about null; every other keyword binds values of one other type (JSON Schema 2020-12,
Validation, section 6.1 to 6.5)."""


class Kind(StrEnum):
    """A JSON type by the name that JSON Schema gives it; ``any`` where nothing is known."""

    NULL = "null"
    BOOL = "boolean"
    INT = "integer"
    FLOAT = "number"
    STRING = "string"
    ARRAY = "array"
    OBJECT = "object"
    DYN = "any"


NUMERIC: Final = frozenset({Kind.INT, Kind.FLOAT})


class ValueType(msgspec.Struct, frozen=True, kw_only=True):
    """The set of JSON values that a place may hold: never smaller than what its schema allows."""

    kind: Kind
    nullable: bool = False
    """Null belongs to it as well."""
    item: "ValueType | None" = None
    """Type of an array's items."""
    fields: Mapping[str, "ValueType"] = msgspec.field(default_factory=dict)
    """Declared fields of an object. An optional field's type does not say so: `at` does."""
    required: frozenset[str] = frozenset()
    rest: "ValueType | None" = None
    """Type of an object's undeclared fields; None when reading one is a mistake."""
    sealed: bool = False
    """The schema forbids undeclared fields. Without it, one with declared fields may hold others that nobody reads."""
    values: tuple[str, ...] = ()
    """The only strings allowed; empty when all are."""
    constraints: frozenset[Constraint] = frozenset()
    """What the schema demands beside all this: lengths, ranges, patterns."""
    domains: frozenset[str] = frozenset()
    """Semantic domains that its values come from; empty where the contract does not say."""

    def or_null(self) -> "ValueType":
        """The same with null, and without the constraints that null may break."""
        if self.nullable or self.kind is Kind.NULL:
            return self
        kept = frozenset(c for c in self.constraints if c[0] not in BINDS_NULL)
        return replace(self, nullable=self.kind is not Kind.DYN, constraints=kept)


class Missing(msgspec.Struct, frozen=True, kw_only=True):
    """There is nothing to read at a part of a path, by the schema."""

    valid: tuple[str, ...]
    """The names that would have been right."""
    reason: str
    """What to say after the container's name: ``has no field 'quer'``."""


NULL: Final = ValueType(kind=Kind.NULL)
BOOL: Final = ValueType(kind=Kind.BOOL)
INT: Final = ValueType(kind=Kind.INT)
FLOAT: Final = ValueType(kind=Kind.FLOAT)
STRING: Final = ValueType(kind=Kind.STRING)
DYN: Final = ValueType(kind=Kind.DYN)


def array_of(item: ValueType) -> ValueType:
    """An array whose items have the type."""
    return ValueType(kind=Kind.ARRAY, item=item)


def object_of(fields: Mapping[str, ValueType], optional: Iterable[str] = ()) -> ValueType:
    """An object with exactly these fields, all there but the optional ones."""
    return ValueType(
        kind=Kind.OBJECT, fields=dict(fields), required=frozenset(fields) - frozenset(optional), sealed=True
    )


def at(container: ValueType, part: PathPart) -> ValueType | Missing:
    """The type read at a field or an index; what may be absent is nullable, since it reads as null."""
    if container.kind is Kind.DYN:
        return DYN
    if container.kind is Kind.ARRAY and isinstance(part, int):
        return (container.item or DYN).or_null()
    if container.kind is Kind.OBJECT and isinstance(part, str):
        return _field(container, part)
    if container.kind is Kind.OBJECT:
        return Missing(valid=tuple(container.fields), reason="is an object, and is read by field name")
    if container.kind is Kind.ARRAY:
        return Missing(valid=(), reason="is an array, and is read by index, as in [0]")
    return Missing(valid=(), reason=f"is {with_article(container)}, and has no fields")


def _field(container: ValueType, name: str) -> ValueType | Missing:
    declared = container.fields.get(name)
    if declared is not None:
        return declared if name in container.required and not container.nullable else declared.or_null()
    if container.rest is not None:
        return container.rest.or_null()
    return Missing(valid=tuple(container.fields), reason=f"has no field '{name}'")


def join(one: ValueType, other: ValueType) -> ValueType:
    """The least type that holds the values of both. Objects keep every field that either has."""
    domains = one.domains | other.domains
    if Kind.DYN in (one.kind, other.kind):
        return replace(DYN, domains=domains) if domains else DYN
    if one.kind is Kind.NULL:
        return other.or_null()
    if other.kind is Kind.NULL:
        return one.or_null()
    nullable = one.nullable or other.nullable
    constraints = one.constraints & other.constraints
    if one.kind is not other.kind:
        if {one.kind, other.kind} <= NUMERIC:
            return ValueType(kind=Kind.FLOAT, nullable=nullable, constraints=constraints)
        return replace(DYN, domains=domains) if domains else DYN
    if one.kind is Kind.OBJECT:
        return replace(_join_objects(one, other), nullable=nullable, constraints=constraints)
    item = join(one.item or DYN, other.item or DYN) if one.kind is Kind.ARRAY else None
    values = tuple(dict.fromkeys(one.values + other.values)) if one.values and other.values else ()
    return ValueType(
        kind=one.kind, nullable=nullable, item=item, values=values, constraints=constraints, domains=domains
    )


def _join_objects(one: ValueType, other: ValueType) -> ValueType:
    fields = {**one.fields, **other.fields}
    for name in one.fields.keys() & other.fields.keys():
        fields[name] = join(one.fields[name], other.fields[name])
    for name in one.fields.keys() ^ other.fields.keys():
        owner, stranger = (one, other) if name in one.fields else (other, one)
        if not stranger.sealed:  # the other object may hold anything under that name
            fields[name] = join(owner.fields[name], stranger.rest) if stranger.rest else DYN
    rest = join(one.rest, other.rest) if one.rest and other.rest else one.rest or other.rest
    return ValueType(
        kind=Kind.OBJECT,
        fields=fields,
        required=one.required & other.required,
        rest=rest,
        sealed=one.sealed and other.sealed,
    )


def render(value_type: ValueType) -> str:
    """Write a type in a few characters: ``array[object]``, ``string?``."""
    text = str(value_type.kind)
    if value_type.kind is Kind.ARRAY:
        text = f"array[{render(value_type.item or DYN)}]"
    return f"{text}?" if value_type.nullable else text


def with_article(value_type: ValueType) -> str:
    """Write a type as a noun phrase: ``an integer``, ``a string``."""
    kind = value_type.kind
    if kind in (Kind.NULL, Kind.DYN):
        return "null" if kind is Kind.NULL else "any value"
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
