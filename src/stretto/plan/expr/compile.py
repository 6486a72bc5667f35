"""Turns the text of an expression into an evaluator over a frame: read, check, then a closure or the library."""

from typing import Any, Final

import msgspec

from stretto.plan.expr.access import Accessor, around
from stretto.plan.expr.check import Checked, check
from stretto.plan.expr.closures import compile_closure
from stretto.plan.expr.constants import constant_problems
from stretto.plan.expr.library import compile_program
from stretto.plan.expr.meant import told_as_meant
from stretto.plan.expr.operators import Operand, as_condition
from stretto.plan.expr.parse import parse
from stretto.plan.expr.problem import ExprCode, ExprProblem, ExprProblems
from stretto.plan.expr.report import DynPart
from stretto.plan.expr.scope import PathScope
from stretto.plan.expr.semantics import NoValue, in_words
from stretto.plan.expr.syntax import Has
from stretto.plan.valuetype import Kind, ValueType, mismatch
from stretto.plan.valuetype.model import with_article
from stretto.types.errors import ExpressionError
from stretto.types.json import Json, PathPart, render_path

MAX_VALUE_CHARS: Final = 80
"""Of a value quoted in an error: enough to recognise it."""


class Expression(msgspec.Struct, frozen=True, kw_only=True):
    """A compiled expression."""

    source: str
    type: ValueType
    """Of every value that it can give."""
    slots: frozenset[int]
    """What must be written before it is evaluated."""
    dyn_parts: tuple[DynPart, ...]
    """Parts whose type only run time tells."""
    is_path: tuple[PathPart, ...] | None
    """The path, when it is one and nothing else."""
    paths: tuple[tuple[PathPart, ...], ...]
    """All that it reads."""
    evaluate: Accessor
    """Its value in a frame; raises ExpressionError. A condition may give null, which is not true."""


def compile_expression(source: str, scope: PathScope, *, expect: ValueType | None = None) -> Expression:
    """Compile CEL over the paths of a scope; `expect` is what its place takes.

    Raises ExprProblems with everything that can never work. What may or may not work is left to run time.
    """
    try:
        tree = parse(source)
    except ExprProblems as found:
        raise told_as_meant(source, found) from None
    checked = check(tree, source, scope)
    problems = list(checked.problems)
    if not problems:
        problems += constant_problems(checked)
        problems += _result_problem(checked, expect) if expect else []
    if problems:
        raise ExprProblems(problems)
    return Expression(
        source=source,
        type=checked.types[checked.tree],
        slots=frozenset().union(*(use.leaf.slots for use in checked.uses)),
        dyn_parts=checked.dyn_parts,
        is_path=None if isinstance(checked.tree, Has) or checked.tree not in checked.leaves else checked.uses[0].path,
        paths=tuple(use.path for use in checked.uses),
        evaluate=_evaluator(checked, boolean=expect is not None and expect.kind is Kind.BOOL),
    )


def _result_problem(checked: Checked, expect: ValueType) -> list[ExprProblem]:
    result = checked.types[checked.tree]
    message = mismatch(result, expect)
    if message is None:
        return []
    suggestion = ""
    if expect.kind is Kind.BOOL:
        message = f"the expression gives {with_article(result)}, and a condition is a boolean"
        suggestion = as_condition(Operand(checked.tree, checked.source.strip(), result))
    width = max(1, checked.tree.end - checked.tree.start)
    return [
        ExprProblem(
            code=ExprCode.RESULT,
            message=message,
            offset=checked.tree.start,
            width=width,
            expected=with_article(expect),
            suggestion=suggestion,
        )
    ]


def _evaluator(checked: Checked, *, boolean: bool) -> Accessor:
    """The fastest way to the value that says, when there is none, what was read."""
    run = compile_closure(checked) or compile_program(checked)
    if boolean and checked.types[checked.tree].kind is not Kind.BOOL:
        run = _condition(run)
    elif checked.tree in checked.leaves:
        return run
    source, reads = checked.source, [(render_path(use.path), use.leaf.get) for use in checked.uses]

    def evaluate(frame: list[Any]) -> Json:
        try:
            return run(frame)
        except NoValue as error:
            raise _explained(source, error, {path: get(frame) for path, get in reads}) from error

    return around(evaluate, run)


def _condition(run: Accessor) -> Accessor:
    """A condition whose type is not known before: it must turn out a boolean, or null."""

    def condition(frame: list[Any]) -> Json:
        value = run(frame)
        if value is None or type(value) is bool:
            return value
        raise NoValue(f"it gives {in_words(value)}, and a condition is a boolean")

    return condition


def _explained(source: str, error: NoValue, values: dict[str, Json]) -> ExpressionError:
    lines = [f"the expression `{source}` has no value here: {error.reason}"]
    lines += [f"  {path} = {_shortened(value)}" for path, value in values.items()]
    absent = [path for path, value in values.items() if value is None]
    if absent:
        lines.append(f"  try: ask for the missing value first: {absent[0]} != null && (...)")
    return ExpressionError("\n".join(lines))


def _shortened(value: Json) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= MAX_VALUE_CHARS else f"{text[:MAX_VALUE_CHARS]}..."
