"""What the operators of CEL take and give (cel-spec langdef, List of Standard Definitions), as far as types can tell.

Each function gives the result's type, and through `Finding` what can never work. One departure, which only ever
makes more expressions work: where an integer meets a double in arithmetic, the integer is converted, since JSON
has one kind of number and a schema's `integer` is one of them.
"""

from typing import Final, NamedTuple

from stretto.plan.expr.problem import ExprCode
from stretto.plan.expr.syntax import ListOf, Literal, Node
from stretto.plan.valuetype import BOOL, DYN, FLOAT, INT, STRING, Kind, ValueType, array_of, join
from stretto.plan.valuetype.model import NUMERIC, with_article
from stretto.spec.suggest import nearest


class Operand(NamedTuple):
    """An operand with what is known of it."""

    node: Node
    text: str
    """Its source, shortened."""
    type: ValueType


class Finding(NamedTuple):
    """Something that can never work."""

    code: ExprCode
    on: Node | None
    """What to underline; None for the whole operation."""
    message: str
    expected: str = ""
    suggestion: str = ""


ORDERED: Final = frozenset({Kind.BOOL, Kind.STRING}) | NUMERIC


def compare(left: Operand, operator: str, right: Operand) -> Finding | None:
    """``==``, ``!=`` and the search of ``in`` take anything; what they can never find equal is a mistake."""
    one, other = left.type.kind, right.type.kind
    if Kind.DYN in (one, other) or Kind.NULL in (one, other):
        return None
    if one is not other and not {one, other} <= NUMERIC:
        return _never_equal(left, operator, right)
    return _not_a_value(left, right) or _not_a_value(right, left)


def _never_equal(left: Operand, operator: str, right: Operand) -> Finding:
    always = "true" if operator == "!=" else "false"
    message = f"`{operator}` compares {with_article(left.type)} with {with_article(right.type)}: it is always {always}"
    wrong, other = (
        (right, left) if isinstance(right.node, Literal) or not isinstance(left.node, Literal) else (left, right)
    )
    return Finding(ExprCode.TYPE, wrong.node, message, with_article(other.type), _converted(wrong, other.type))


def _converted(literal: Operand, wanted: ValueType) -> str:
    """The literal as the other side would have it: ``'5'`` for ``5``, and the other way round."""
    value = getattr(literal.node, "value", None)
    if wanted.kind is Kind.STRING and isinstance(value, (bool, int, float)):
        return f"'{literal.text}'"
    if isinstance(value, str) and wanted.kind is Kind.BOOL and value.lower() in ("true", "false"):
        return value.lower()
    if isinstance(value, str) and wanted.kind in NUMERIC and value.lstrip("-").replace(".", "", 1).isdecimal():
        return value
    return ""


def _not_a_value(operand: Operand, literal: Operand) -> Finding | None:
    """Text that the other side's enum does not contain."""
    allowed, asked = operand.type.values, literal.type.values
    if not allowed or not asked or set(allowed) & set(asked):
        return None
    if isinstance(operand.node, Literal):
        return None
    named = ", ".join(f"'{value}'" for value in allowed)
    if not isinstance(literal.node, Literal):
        return Finding(
            ExprCode.NEVER, literal.node, f"`{literal.text}` and `{operand.text}` have no value in common", named
        )
    near = nearest(asked[0], allowed)
    message = f"`{operand.text}` is never {literal.text}"
    return Finding(ExprCode.NEVER, literal.node, message, f"one of {named}", f"'{near}'" if near else "")


def order(left: Operand, operator: str, right: Operand) -> Finding | None:
    """``<`` and its kin order numbers, texts and booleans, each among themselves."""
    for operand in (left, right):
        if operand.type.kind not in ORDERED and operand.type.kind is not Kind.DYN:
            message = f"`{operator}` does not order {with_article(operand.type)}"
            hint = f"size({operand.text})" if operand.type.kind in (Kind.ARRAY, Kind.OBJECT) else ""
            return Finding(ExprCode.TYPE, operand.node, message, "a number, a string or a boolean", hint)
    one, other = left.type.kind, right.type.kind
    if Kind.DYN in (one, other) or one is other or {one, other} <= NUMERIC:
        return None
    message = f"`{operator}` cannot order {with_article(left.type)} and {with_article(right.type)}"
    chained = _chained(left, operator, right)
    if chained:
        return Finding(ExprCode.TYPE, None, message, "one comparison at a time", chained)
    wrong, fine = (left, right) if isinstance(left.node, Literal) else (right, left)
    return Finding(ExprCode.TYPE, wrong.node, message, with_article(fine.type), _converted(wrong, fine.type))


def _chained(left: Operand, operator: str, right: Operand) -> str:
    """``a < b < c`` says in CEL that a boolean is less than c."""
    inner = getattr(left.node, "operator", "")
    if inner not in ("<", "<=", ">", ">="):
        return ""
    middle = left.text.split(inner, 1)[1].strip()
    return f"{left.text} && {middle} {operator} {right.text}"


def contains(left: Operand, right: Operand) -> Finding | None:
    """``in`` asks a list for an item or a map for a key."""
    kind = right.type.kind
    if kind is Kind.STRING:
        message = "`in` does not look into text"
        return Finding(ExprCode.TYPE, right.node, message, "a list or an object", f"{right.text}.contains({left.text})")
    if kind not in (Kind.ARRAY, Kind.OBJECT, Kind.DYN):
        message = f"`in` does not look into {with_article(right.type)}"
        return Finding(ExprCode.TYPE, right.node, message, "a list or an object")
    if kind is Kind.OBJECT:
        return _no_key(left)
    if isinstance(right.node, ListOf):
        return None  # compared item by item
    return compare(left, "in", Operand(right.node, right.text, right.type.item or DYN)) if kind is Kind.ARRAY else None


def _no_key(left: Operand) -> Finding | None:
    if left.type.kind in (Kind.STRING, Kind.DYN):
        return None
    return Finding(ExprCode.TYPE, left.node, f"{with_article(left.type)} is no key of an object", "a string")


def arithmetic(left: Operand, operator: str, right: Operand) -> tuple[ValueType, Finding | None]:
    """``+ - * / %``: numbers everywhere, and ``+`` for two texts or two lists; only integers have a remainder."""
    one, other = left.type, right.type
    taken = _takers(operator)
    for operand in (left, right):
        if operand.type.kind not in taken and operand.type.kind is not Kind.DYN:
            message = f"`{operator}` does not take {with_article(operand.type)}"
            return DYN, Finding(ExprCode.TYPE, operand.node, message, _takes_in_words(operator))
    if Kind.DYN in (one.kind, other.kind):
        return DYN, None
    if one.kind is not other.kind and not {one.kind, other.kind} <= NUMERIC:
        message = f"`{operator}` cannot join {with_article(one)} and {with_article(other)}"
        wrong, fine = (left, right) if right.type.kind is Kind.STRING else (right, left)
        convert = _converted(wrong, fine.type)
        if not convert and fine.type.kind is Kind.STRING and wrong.type.kind in NUMERIC:
            convert = f"string({wrong.text})"
        return DYN, Finding(ExprCode.TYPE, wrong.node, message, with_article(fine.type), convert)
    if operator in "/%" and getattr(right.node, "value", None) == 0 and {one.kind, other.kind} == {Kind.INT}:
        return INT, Finding(ExprCode.TYPE, right.node, "an integer is divided by zero", "another divisor")
    return _sum(one, other), None


def _sum(one: ValueType, other: ValueType) -> ValueType:
    if one.kind is Kind.ARRAY:
        return array_of(join(one.item or DYN, other.item or DYN))
    if one.kind is Kind.STRING:
        return STRING
    return FLOAT if Kind.FLOAT in (one.kind, other.kind) else INT


def _takers(operator: str) -> frozenset[Kind]:
    if operator == "+":
        return NUMERIC | {Kind.STRING, Kind.ARRAY}
    return frozenset({Kind.INT}) if operator == "%" else NUMERIC


def _takes_in_words(operator: str) -> str:
    return {"+": "numbers, strings or lists", "%": "integers"}.get(operator, "numbers")


def negate(operator: str, operand: Operand) -> tuple[ValueType, Finding | None]:
    """``!`` takes a boolean, ``-`` a number."""
    kind = operand.type.kind
    if operator == "!":
        return BOOL, truth("!", operand)
    if kind is Kind.DYN or kind in NUMERIC:
        return DYN if kind is Kind.DYN else ValueType(kind=kind), None
    return DYN, Finding(ExprCode.TYPE, operand.node, f"`-` does not take {with_article(operand.type)}", "a number")


def truth(operator: str, operand: Operand) -> Finding | None:
    """``&&``, ``||``, ``!`` and conditions take booleans only."""
    if operand.type.kind in (Kind.BOOL, Kind.DYN):
        return None
    message = f"`{operator}` takes booleans, and `{operand.text}` is {with_article(operand.type)}"
    return Finding(ExprCode.TYPE, operand.node, message, "a boolean", as_condition(operand))


def as_condition(operand: Operand) -> str:
    """A comparison that says what was likely meant by using a value as a condition."""
    match operand.type.kind:
        case Kind.ARRAY | Kind.OBJECT:
            return f"size({operand.text}) > 0"
        case Kind.STRING:
            return f"{operand.text} != ''"
        case Kind.INT | Kind.FLOAT:
            return f"{operand.text} != 0"
        case _:
            return ""
