"""Compile what the answers of a fallback must satisfy, and judge answers by it."""

from collections.abc import Sequence

from stretto.plan.codes import PlanCode
from stretto.plan.fields import Read, Reader
from stretto.plan.model import Expectation, Frame, Getter
from stretto.plan.names import Binding, Names
from stretto.plan.valuetype import BOOL, ValueType
from stretto.spec.model import ExpectationSpec
from stretto.spec.report import Report
from stretto.spec.source import Located
from stretto.types.errors import ExpressionError
from stretto.types.json import JsonObject

INPUT, ANSWER = range(2)
"""Slots of the frame that expectations read."""


def compile_expectations(
    specs: Sequence[ExpectationSpec], input_type: ValueType, answer_type: ValueType, report: Report
) -> tuple[Expectation, ...]:
    """Compile them over `input` and `answer`; reports what can never work, and what would check nothing."""
    names = Names()
    names.bind(("input",), [Binding(slot=INPUT, type=input_type)])
    names.bind(("answer",), [Binding(slot=ANSWER, type=answer_type)])
    reader = Reader(report)
    found = []
    for spec in specs:
        when = None if spec.when is None else reader.expression(spec.when, names, expect=BOOL)
        holds = reader.expression(spec.holds, names, expect=BOOL)
        if spec.when is not None and when is not None and not when.slots:
            _report_constant(spec.when, report)
        if holds is not None and _checks_something(spec.holds, holds, report):
            found.append(Expectation(name=spec.name.value, holds=holds.get, when=None if when is None else when.get))
    return tuple(found)


def _checks_something(text: Located[str], holds: Read, report: Report) -> bool:
    if ANSWER in holds.slots:
        return True
    report.add(
        text.span.problem(
            PlanCode.BUSINESS_FALLBACK,
            f"`holds: {text.value}` reads nothing of the answer, so it checks nothing",
            expected="a condition over `answer`",
            suggestion="what the input must be, say in `when`",
        )
    )
    return False


def _report_constant(text: Located[str], report: Report) -> None:
    report.add(
        text.span.problem(
            PlanCode.BUSINESS_FALLBACK,
            f"`when: {text.value}` reads nothing, so it picks all answers or none",
            expected="a condition over `input` and `answer`, or no `when` at all",
        )
    )


def judge(expectations: Sequence[Expectation], run_input: JsonObject, answer: JsonObject) -> dict[str, bool]:
    """Whether each holds, by name, of those that apply to this input and answer.

    A condition that cannot be evaluated on them does not hold; nor does one that reads null.
    """
    frame: Frame = [run_input, answer]
    return {
        each.name: _is_true(each.holds, frame)
        for each in expectations
        if each.when is None or _is_true(each.when, frame)
    }


def _is_true(get: Getter, frame: Frame) -> bool:
    try:
        return get(frame) is True
    except ExpressionError:
        return False
