"""The functions that can be called: those of CEL's standard library, and one of ours, with what they take and give."""

from typing import Final

import msgspec

from stretto.plan.expr.hints import FOREIGN_FUNCTIONS
from stretto.plan.valuetype import BOOL, DYN, FLOAT, INT, STRING, Kind, ValueType
from stretto.spec.suggest import nearest

TEXT: Final = frozenset({Kind.STRING})
NUMBER: Final = frozenset({Kind.INT, Kind.FLOAT})
SIZED: Final = frozenset({Kind.STRING, Kind.ARRAY, Kind.OBJECT})
ANY: Final = frozenset(Kind)
NO_JSON: Final[frozenset[Kind]] = frozenset()
"""A timestamp, a duration or an optional: CEL values that JSON does not have, so that only dyn can hold them."""


class Function(msgspec.Struct, frozen=True, kw_only=True):
    """One function; its receiver, when called as a method, is the first operand."""

    operands: tuple[frozenset[Kind], ...]
    result: ValueType
    method: bool = False
    """``x.f()``"""
    free: bool = True
    """``f(x)``"""
    like: str
    """A call to show."""


def _convert(name: str, operand: frozenset[Kind], result: ValueType, like: str) -> dict[str, Function]:
    return {name: Function(operands=(operand,), result=result, like=like)}


def _method(name: str, *operands: frozenset[Kind], result: ValueType, like: str) -> dict[str, Function]:
    return {name: Function(operands=operands, result=result, method=True, free=False, like=like)}


PARTS_OF_TIME: Final = (
    *("getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear", "getHours"),
    *("getMilliseconds", "getMinutes", "getMonth", "getSeconds"),
)

FUNCTIONS: Final = {
    "size": Function(operands=(SIZED,), result=INT, method=True, like="size(input.items)"),
    "matches": Function(operands=(TEXT, TEXT), result=BOOL, method=True, like="input.id.matches('^#[0-9]+$')"),
    **_method("contains", TEXT, TEXT, result=BOOL, like="input.query.contains('refund')"),
    **_method("startsWith", TEXT, TEXT, result=BOOL, like="input.id.startsWith('#')"),
    **_method("endsWith", TEXT, TEXT, result=BOOL, like="input.file.endsWith('.pdf')"),
    **_method("isJson", TEXT, result=BOOL, like="output.text.isJson()"),
    **_convert("string", NUMBER | TEXT | {Kind.BOOL}, STRING, "string(input.count)"),
    **_convert("int", NUMBER | TEXT, INT, "int(input.price)"),
    **_convert("double", NUMBER | TEXT, FLOAT, "double(input.count)"),
    **_convert("bool", TEXT | {Kind.BOOL}, BOOL, "bool(input.flag)"),
    **_convert("uint", NUMBER | TEXT, DYN, "uint(input.count)"),
    **_convert("bytes", TEXT, DYN, "bytes(input.text)"),
    **_convert("timestamp", TEXT, DYN, "timestamp('2026-01-31T12:00:00Z')"),
    **_convert("duration", TEXT, DYN, "duration('1h30m')"),
    **_convert("dyn", ANY, DYN, "dyn(input.value)"),
    **_convert("type", ANY, DYN, "type(input.value) == string"),
    **{name: _method(name, NO_JSON, result=INT, like=f"timestamp(x).{name}()")[name] for name in PARTS_OF_TIME},
    **_convert("optional.of", ANY, DYN, "optional.of(input.value)"),
    **_convert("optional.ofNonZeroValue", ANY, DYN, "optional.ofNonZeroValue(input.value)"),
    "optional.none": Function(operands=(), result=DYN, like="optional.none()"),
    **_method("hasValue", NO_JSON, result=BOOL, like="optional.of(x).hasValue()"),
    **_method("value", NO_JSON, result=DYN, like="optional.of(x).value()"),
    **_method("orValue", NO_JSON, ANY, result=DYN, like="optional.of(x).orValue(0)"),
    **_method("or", NO_JSON, NO_JSON, result=DYN, like="optional.none().or(optional.of(1))"),
}

MACROS: Final = ("has", "all", "exists", "exists_one", "map", "filter")

TYPE_NAMES: Final = frozenset({"bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"})
"""Names of CEL's types, for ``type(x) == string``."""


def commonest(*, method: bool) -> list[str]:
    """The functions worth listing to someone who named none: those of JSON values, called like theirs."""
    named = [name for name, one in FUNCTIONS.items() if (one.method if method else one.free and "." not in name)]
    shown = [name for name in named if NO_JSON not in FUNCTIONS[name].operands]
    return [*shown, *(macro for macro in MACROS if (macro != "has") is method)]


def nearest_function(name: str) -> str:
    """What was likely meant by a name that is no function; empty when nothing is near."""
    return FOREIGN_FUNCTIONS.get(name) or nearest(name, (*FUNCTIONS, *MACROS)) or ""
