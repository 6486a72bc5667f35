"""Tries the calls that read nothing, so that a malformed pattern, time or number is found before anything runs."""

from typing import Final

from stretto.plan.expr.check import Checked
from stretto.plan.expr.functions import FUNCTIONS
from stretto.plan.expr.library import evaluate_constant
from stretto.plan.expr.phrases import literal
from stretto.plan.expr.problem import ExprCode, ExprProblem
from stretto.plan.expr.spans import readable
from stretto.plan.expr.syntax import Call, Literal

CONVERSIONS: Final = frozenset({"int", "uint", "double", "timestamp"})


def constant_problems(checked: Checked) -> list[ExprProblem]:
    """Every call of a constant that has no value."""
    problems = []
    for node in checked.types:
        if isinstance(node, Call) and (trial := _trial(node)):
            argument, text = trial
            reason = evaluate_constant(text)
            if reason:
                problems.append(
                    ExprProblem(
                        code=ExprCode.ARGUMENTS,
                        message=f"{node.function}() cannot read this: {reason.removeprefix(node.function + '(): ')}",
                        offset=argument.start,
                        width=argument.end - argument.start,
                        expected=FUNCTIONS[node.function].like,
                    )
                )
    return problems


def _trial(node: Call) -> tuple[Literal, str] | None:
    """The constant argument of a call, and a text that evaluates the call on it."""
    if not node.arguments:
        return None
    argument = node.arguments[-1]
    if not isinstance(argument, Literal):
        return None
    if node.function == "matches" and isinstance(argument.value, str):
        return argument, f'"".matches({literal(argument.value)})'
    if node.function == "duration" and node.target is None and isinstance(argument.value, str):
        return argument, f"duration({literal(readable(argument.value))})"
    if node.function in CONVERSIONS and node.target is None:
        return argument, f"{node.function}({literal(argument.value)})"
    return None
