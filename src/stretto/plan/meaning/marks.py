"""Domains in types: a field's type says which domain its values come from, and carries that wherever it is read.

So aliases, merges, carries, items and conditional expressions need nothing of their own.
"""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from stretto.plan.meaning.domain import Domain
from stretto.plan.valuetype import DYN, Kind, ValueType

TEXTS = (Kind.STRING, Kind.DYN, Kind.NULL)
"""What may be a value of a domain."""


def leaf_of(kind: ValueType, path: Sequence[str]) -> ValueType | None:
    """The type of the single values at a path below a type, lists gone through; None where there can be none."""
    while kind.kind is Kind.ARRAY:
        kind = kind.item or DYN
    if not path or kind.kind is Kind.DYN:
        return kind if not path else DYN
    if kind.kind is not Kind.OBJECT:
        return None
    below = kind.fields.get(path[0], kind.rest)
    return None if below is None else leaf_of(below, path[1:])


def is_declared(kind: ValueType, path: Sequence[str]) -> bool:
    """Whether a type names the field at a path, and does not only leave room for it."""
    while kind.kind is Kind.ARRAY:
        kind = kind.item or DYN
    if not path:
        return True
    return path[0] in kind.fields and is_declared(kind.fields[path[0]], path[1:])


def held(kind: ValueType, path: Sequence[str], domain: Domain) -> ValueType:
    """The type of what has crossed into a domain at a path: marked, and closed to its values where it is enforced."""
    if kind.kind is Kind.ARRAY:
        return replace(kind, item=held(kind.item or DYN, path, domain))
    if not path:
        return _held_leaf(kind, domain)
    below = kind.fields.get(path[0], kind.rest) if kind.kind is Kind.OBJECT else None
    if below is None:
        return kind
    return replace(kind, fields={**kind.fields, path[0]: held(below, path[1:], domain)})


def _held_leaf(kind: ValueType, domain: Domain) -> ValueType:
    name = frozenset({domain.name})
    if kind.kind is not Kind.STRING:
        return replace(kind, domains=name)
    values = domain.values if domain.is_closed else ()
    return ValueType(kind=Kind.STRING, nullable=kind.nullable, values=values, domains=name)


def with_null(kind: ValueType, path: Sequence[str]) -> ValueType:
    """The type with null beside what stands at a path, where it is known what does."""
    if kind.kind is Kind.ARRAY and kind.item is not None:
        return replace(kind, item=with_null(kind.item, path))
    if not path:
        return kind if kind.kind is Kind.DYN else replace(kind, nullable=True)
    below = kind.fields.get(path[0])
    return kind if below is None else replace(kind, fields={**kind.fields, path[0]: with_null(below, path[1:])})


def renamed(kind: ValueType, keep: Callable[[str], bool]) -> ValueType:
    """The type without the domains that are not kept: those of another contract."""
    return replace(
        kind,
        domains=frozenset(filter(keep, kind.domains)),
        item=None if kind.item is None else renamed(kind.item, keep),
        rest=None if kind.rest is None else renamed(kind.rest, keep),
        fields={name: renamed(field, keep) for name, field in kind.fields.items()},
    )


def domains_in(kind: ValueType) -> frozenset[str]:
    """Every domain that values of a type may come from, wherever in it they stand."""
    inner = [each for each in (kind.item, kind.rest, *kind.fields.values()) if each is not None]
    return kind.domains.union(*map(domains_in, inner))


def marked_as(kind: ValueType, like: ValueType) -> ValueType:
    """The type with the domains that another type of the same value has."""
    return replace(
        kind,
        domains=kind.domains | like.domains,
        item=kind.item if kind.item is None or like.item is None else marked_as(kind.item, like.item),
        fields={
            name: marked_as(field, like.fields[name]) if name in like.fields else field
            for name, field in kind.fields.items()
        },
    )
