"""What may flow where: definite mismatches for people, and proofs that make a run-time check needless."""

from stretto.plan.valuetype.model import DYN, NUMERIC, OPAQUE, Kind, ValueType, with_article
from stretto.spec.suggest import quoted


def may_be_null(value_type: ValueType) -> bool:
    """Whether null is visibly among the values; of dyn nothing is visible."""
    return value_type.nullable or value_type.kind is Kind.NULL


def mismatch(source: ValueType, target: ValueType) -> str | None:
    """Why no value of the source fits the target; None when one may.

    Null, empty arrays and absent optional fields are left aside: that they fit is no reason to accept the rest.
    """
    found = _mismatch(source, target)
    if found is None:
        return None
    place, reason = found
    return f"at '{place}', {reason}" if place else reason


def _mismatch(source: ValueType, target: ValueType) -> tuple[str, str] | None:
    """Where inside the value, and why."""
    if Kind.DYN in (source.kind, target.kind):
        return None
    if source.kind is Kind.NULL:
        return None if may_be_null(target) else ("", f"the value is always null, expected {with_article(target)}")
    if not _kinds_meet(source.kind, target.kind):
        return "", f"{with_article(source)} is not {with_article(target)}"
    if source.values and target.values and not set(source.values) & set(target.values):
        return "", f"none of {quoted(source.values)} is one of {quoted(target.values)}"
    if source.kind is Kind.ARRAY:
        inner = _mismatch(source.item or DYN, target.item or DYN)
        return (_joined("[]", inner[0]), inner[1]) if inner else None
    return _object_mismatch(source, target) if source.kind is Kind.OBJECT else None


def _object_mismatch(source: ValueType, target: ValueType) -> tuple[str, str] | None:
    for name in sorted(target.required - source.fields.keys()):
        if source.rest is None:
            has = f"has only {quoted(tuple(source.fields))}" if source.fields else "has no fields"
            return "", f"the object lacks the required field '{name}' ({has})"
    if target.sealed:
        for name in sorted(source.required - target.fields.keys()):
            return "", f"the object's field '{name}' is not allowed (allowed: {quoted(tuple(target.fields))})"
    for name, wanted in target.fields.items():
        given = source.fields.get(name)
        inner = _mismatch(given, wanted) if given else None
        if inner:
            return _joined(name, inner[0]), inner[1]
    return None


def _kinds_meet(source: Kind, target: Kind) -> bool:
    """A number may be integral, so number to integer is not a definite mismatch."""
    return source is target or {source, target} <= NUMERIC


def _joined(head: str, tail: str) -> str:
    return f"{head}{tail}" if not tail or tail.startswith("[") else f"{head}.{tail}"


def proves(source: ValueType, target: ValueType) -> bool:
    """Whether every value of the source surely satisfies the target's schema.

    Conservative: False says only that it must be checked at run time.
    """
    if any(keyword == OPAQUE for keyword, _ in target.constraints):
        return False
    if target.kind is Kind.DYN:
        return target.constraints <= source.constraints
    if may_be_null(source) and not may_be_null(target):
        return False
    if source.kind is Kind.NULL:
        return True
    if source.kind is not target.kind and (source.kind, target.kind) != (Kind.INT, Kind.FLOAT):
        return False
    if not target.constraints <= source.constraints:
        return False
    if target.values and not (source.values and set(source.values) <= set(target.values)):
        return False
    if target.kind is Kind.ARRAY:
        return proves(source.item or DYN, target.item or DYN)
    return target.kind is not Kind.OBJECT or _proves_object(source, target)


def _proves_object(source: ValueType, target: ValueType) -> bool:
    if not target.required <= source.required:
        return False
    others = _others(target)
    for name, given in source.fields.items():
        wanted = target.fields.get(name, others)
        if wanted is None or not proves(given, wanted):
            return False
    if source.sealed:
        return True
    unseen = source.rest or DYN
    unnamed = [target.fields[name] for name in target.fields.keys() - source.fields.keys()]
    return others is not None and all(proves(unseen, wanted) for wanted in (others, *unnamed))


def _others(target: ValueType) -> ValueType | None:
    """What the schema allows under undeclared names; None when it forbids them."""
    return None if target.sealed else target.rest or DYN
