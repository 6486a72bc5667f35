"""The one place that knows the Rust CEL library (package common-expression-language)."""

import re
import sys
from base64 import b64encode
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from math import isfinite
from typing import Any, Final

from stretto.plan.expr.access import Accessor, as_number, path_getter
from stretto.plan.expr.check import Checked
from stretto.plan.expr.emit import Emitted, ItemPath, emit, emit_part
from stretto.plan.expr.phrases import CHARACTERS, IS_JSON, SECONDS, SPAN, ZULU
from stretto.plan.expr.semantics import NoValue, is_json
from stretto.plan.expr.spans import given, in_seconds
from stretto.plan.expr.syntax import Has, Node
from stretto.plan.valuetype import Kind
from stretto.types.arguments import INT64_MAX, INT64_MIN
from stretto.types.json import Json

EXTENSION: Final = "cel.cel"

FAILURES: Final = (TypeError, ValueError, KeyError, IndexError, ArithmeticError, RuntimeError)
"""What the library raises when an expression has no value."""

JSON_KINDS: Final = frozenset({Kind.BOOL, Kind.INT, Kind.STRING, Kind.NULL})
"""Types whose values the library gives back as JSON."""


@cache
def _library() -> Any:
    """The extension module alone: 25 ms. Its package costs 290 ms more, for a command line that nobody here uses."""
    loaded = sys.modules.get(EXTENSION)
    if loaded:
        return loaded
    package = find_spec("cel")
    spec = PathFinder.find_spec(EXTENSION, package.submodule_search_locations) if package else None
    if spec is None or spec.loader is None:
        raise ImportError(
            "the package common-expression-language is damaged; run: pip install --force-reinstall stretto"
        )
    module = module_from_spec(spec)
    sys.modules[EXTENSION] = module
    spec.loader.exec_module(module)
    return module


def compile_program(checked: Checked) -> Callable[[list[Any]], Json]:
    """An evaluator for the whole expression, which may raise NoValue."""
    run = _evaluator(checked, emit(checked), 0)
    if checked.types[checked.tree].kind in JSON_KINDS:
        return run
    return lambda frame: to_json(run(frame))


def compile_part(checked: Checked, node: Node, level: int) -> Callable[[list[Any]], Json]:
    """An evaluator for a part of it that gives a scalar and stands inside `level` comprehensions, whose items stand at
    the end of the frame. May raise NoValue, and may give a number that JSON cannot hold."""
    return _evaluator(checked, emit_part(checked, node, level), level)


def _evaluator(checked: Checked, emitted: Emitted, level: int) -> Callable[[list[Any]], Any]:
    text = emitted.text
    execute = _library().compile(text).execute
    reads = (*_reads(checked, emitted.leaves).items(), *_items(emitted.items, level).items())
    functions = {name: function for name, function in _OWN_FUNCTIONS.items() if name in text}
    context = _library().Context

    def evaluate(frame: list[Any]) -> Any:
        values = {name: get(frame) for name, get in reads}
        try:
            return execute(context(values, functions) if functions else values)
        except FAILURES as error:
            raise NoValue(_reason(error)) from error

    return evaluate


def evaluate_constant(text: str) -> str:
    """Why an expression without paths has no value; empty when it has one."""
    try:
        _library().compile(text).execute({})
    except FAILURES as error:
        return _reason(error)
    return ""


def _reads(checked: Checked, leaves: dict[str, Node]) -> dict[str, Accessor]:
    """How to read each path of the emitted text: its value, or whether it has one."""
    reads: dict[str, Accessor] = {}
    for name, node in leaves.items():
        leaf = checked.leaves[node].leaf
        reads[name] = _presence(leaf.get) if isinstance(node, Has) else as_number(leaf.get, leaf.type.kind)
    return reads


def _items(items: dict[str, ItemPath], level: int) -> dict[str, Accessor]:
    """How to read what is bound around: items stand at the end of the frame, the innermost last."""
    return {name: as_number(path_getter(at - level, path), kind.kind) for name, (at, path, kind) in items.items()}


def _presence(get: Accessor) -> Accessor:
    return lambda frame: get(frame) is not None


def to_json(value: Any) -> Json:
    """CEL's values as JSON (cel-spec langdef, JSON Data Conversion): times as RFC 3339, durations in seconds."""
    match value:
        case None | bool() | str():
            return value
        case int() | float():
            return _number(value)
        case list():
            return [to_json(item) for item in value]
        case dict():
            return {_key(key): to_json(value[key]) for key in sorted(value, key=str)}
        case bytes():
            return b64encode(value).decode()
        case datetime():
            return _zulu(value.isoformat())
        case timedelta():
            return _seconds(value)
        case _:
            return to_json(value.value()) if value.has_value() else None


def _zulu(text: str) -> str:
    return f"{text.removesuffix('+00:00')}Z" if text.endswith("+00:00") else text


def _seconds(value: timedelta) -> str:
    return f"{value.total_seconds():.6f}".rstrip("0").rstrip(".") + "s"


_OWN_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    CHARACTERS: len,
    IS_JSON: is_json,
    SECONDS: in_seconds,
    SPAN: given,
    ZULU: _zulu,
}
"""What the emitted text may call beside the library's own."""


def _number(value: int | float) -> Json:
    if isinstance(value, float) and not isfinite(value):
        raise NoValue(f"the result is {value}, which JSON cannot hold")
    if isinstance(value, int) and not INT64_MIN <= value <= INT64_MAX:
        raise NoValue(f"the result {value} does not fit 64 bits")
    return value


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    raise NoValue(f"the result has the key {key}, and JSON's keys are strings")


REASONS: Final = (
    (r"No such overload", "an operator or function met a value of a type that it does not take"),
    (r"Unsupported operation: (.+?)\. ", r"`\1` is not defined; convert one side with int(), double() or string()"),
    (r"(?:division|modulo) by zero", "an integer is divided by zero"),
    (r"Arithmetic overflow in '\w+' on (.+?)\.$", r"the result of \1 does not fit 64 bits"),
    (r"regex parse error:.*error: (.+?)(?:\. Check function.*)?$", r"the pattern is malformed: \1"),
    (r'Parsing Error: Error \{ input: "(.*?)", code', r"duration(): \1"),
    (r"Function '(\w+)' error: (.+?)(?:\. Check function.*)?$", r"\1(): \2"),
    (r"Undefined variable or function: '(\w+)'", r"\1() met a value of a type that it does not take"),
)
"""The library's messages, and what they say in the words of an expression's author."""


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"bool() does not read {error}"  # every other look-up is guarded
    text = str(error)
    for pattern, reason in REASONS:
        if found := re.search(pattern, text, re.DOTALL):
            return found.expand(reason)
    return text.split("\n", 1)[0]
