"""Expressions: CEL read here with places and types, evaluated as Python closures or by the Rust library."""

from stretto.plan.expr.access import path_getter
from stretto.plan.expr.compile import Expression, compile_expression
from stretto.plan.expr.located import compile_located
from stretto.plan.expr.problem import ExprCode, ExprProblem, ExprProblems
from stretto.plan.expr.report import DynPart
from stretto.plan.expr.scope import Leaf, PathScope, UnknownPath, descend

__all__ = [
    "DynPart",
    "ExprCode",
    "ExprProblem",
    "ExprProblems",
    "Expression",
    "Leaf",
    "PathScope",
    "UnknownPath",
    "compile_expression",
    "compile_located",
    "descend",
    "path_getter",
]
