"""Holds step names apart: a name may stand once among the steps that can see each other."""

from collections.abc import Mapping

from stretto.spec.codes import SpecCode
from stretto.spec.nodes import ListNode, MapNode, Node, ScalarNode, quote
from stretto.spec.report import Report
from stretto.spec.source import Span


def check_step_names(steps: Node | None, report: Report, outside: Mapping[str, Span] | None = None) -> None:
    """Report each step whose name is taken, beside it or in a step around it. Bodies of two loops may share names.

    Works on the tree, so that a step with other mistakes is checked as well.
    """
    if not isinstance(steps, ListNode):
        return
    taken = dict(outside or {})
    bodies: list[Node | None] = []
    for step in steps.items:
        if isinstance(step, MapNode):
            _take_name(step.get("name"), taken, report)
            repeat = step.get("repeat")
            bodies += [step.get("steps"), repeat.get("steps") if isinstance(repeat, MapNode) else None]
    for body in bodies:
        check_step_names(body, report, taken)


def _take_name(name: Node | None, taken: dict[str, Span], report: Report) -> None:
    if not isinstance(name, ScalarNode) or not isinstance(name.value, str):
        return
    first = taken.get(name.value)
    if first is None:
        taken[name.value] = name.span
        return
    report.add(
        name.span.problem(
            SpecCode.DUPLICATE_STEP,
            f"a step named {quote(name.value)} already stands at line {first.mark.line}",
            expected="a name of its own for each step, so that `steps.<name>` means one of them",
            suggestion=f'name: "{_free(name.value, taken)}"',
        )
    )


def _free(name: str, taken: Mapping[str, Span]) -> str:
    number = 2
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"
