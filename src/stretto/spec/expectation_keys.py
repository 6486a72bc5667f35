"""What every answer of a fallback must satisfy: a list of named conditions, in a file of its own or in the workflow's.

- name: never_without_a_product
  when: "input.risk == 'low'"
  holds: "size(answer.products) > 0"
"""

from pathlib import Path
from typing import Final

from stretto.spec.codes import SpecCode
from stretto.spec.model import ExpectationSpec
from stretto.spec.nested import Items
from stretto.spec.nodes import ListNode, Node, ScalarNode, quote
from stretto.spec.read import read_list, read_source
from stretto.spec.records import Fields, Key, Record
from stretto.spec.report import Report
from stretto.spec.shapes import wrong_type
from stretto.spec.source import Located
from stretto.spec.texts import EXPRESSION, PROSE
from stretto.types.json import JsonObject

NAME: Final = Key(
    "name", PROSE, means="what it is called in reports", example="name: always_a_number", required=True, also=("id",)
)
WHEN: Final = Key(
    "when",
    EXPRESSION,
    means="a condition over `input` and `answer`: of which answers something is expected; without it, of all",
    example="when: \"input.risk == 'low'\"",
    also=("if", "condition", "given"),
)
HOLDS: Final = Key(
    "holds",
    EXPRESSION,
    means="a condition over `input` and `answer` that must be true",
    example='holds: "size(answer.products) > 0"',
    required=True,
    also=("then", "expect", "must", "assert"),
)


def _expectation(fields: Fields) -> ExpectationSpec | None:
    name, holds = fields.get(NAME), fields.get(HOLDS)
    if name is None or holds is None:
        return None
    return ExpectationSpec(name=name, when=fields.get(WHEN), holds=holds)


EXPECTATION: Final = Record(
    "expectation", means="what answers must satisfy", keys=(NAME, WHEN, HOLDS), build=_expectation
)

EXPECTATIONS: Final = Items(item=EXPECTATION, what="expectations")


class ExpectationsShape:
    """The path of a file of expectations, or the list itself."""

    def read(self, node: Node, name: str, report: Report) -> "Located[str] | tuple[ExpectationSpec, ...] | None":
        if isinstance(node, ListNode):
            return read_expectations(node, name, report)
        if isinstance(node, ScalarNode) and isinstance(node.value, str):
            return PROSE.read(node, name, report)
        report.add(wrong_type(node, name, "the path of a file of expectations, or a list of them"))
        return None

    def schema(self, defs: JsonObject) -> JsonObject:
        return {"anyOf": [PROSE.schema(defs), EXPECTATIONS.schema(defs)]}


def read_expectations(node: Node, name: str, report: Report) -> tuple[ExpectationSpec, ...]:
    """The list; reports one that is empty, and two of one name: which of them failed could not be told."""
    found = EXPECTATIONS.read(node, name, report) or ()
    seen: dict[str, Located[str]] = {}
    for each in found:
        first = seen.setdefault(each.name.value, each.name)
        if first is not each.name:
            message = (
                f"two expectations are called {quote(each.name.value)}; the first is at line {first.span.mark.line}"
            )
            report.add(each.name.span.problem(SpecCode.CONFLICT, message, expected="another name for each"))
    return found


def load_expectations(path: Path) -> tuple[ExpectationSpec, ...]:
    """Read a file of expectations. Raises SpecError with every problem in it, also when it expects nothing."""
    report = Report()
    found = read_expectations(
        read_list(read_source(path, "a file of expectations"), "expectations", report), "expectations", report
    )
    report.raise_if_any()
    return found
