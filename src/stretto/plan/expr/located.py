"""Compiles an expression of a file; what is wrong with it is reported at its place there."""

from stretto.plan.expr.compile import Expression, compile_expression
from stretto.plan.expr.problem import ExprProblems
from stretto.plan.expr.scope import PathScope
from stretto.plan.valuetype import ValueType
from stretto.spec.report import Report
from stretto.spec.source import Located


def compile_located(
    text: Located[str], scope: PathScope, report: Report, *, expect: ValueType | None = None
) -> Expression | None:
    """The expression, or None after reporting everything that is wrong with it."""
    try:
        return compile_expression(text.value, scope, expect=expect)
    except ExprProblems as found:
        for problem in found.problems:
            span = text.part(problem.offset, problem.width)
            report.add(
                span.problem(problem.code, problem.message, expected=problem.expected, suggestion=problem.suggestion)
            )
        return None
