"""Where a field's value comes from: an expression, or a constant."""

from stretto.spec.codes import SpecCode
from stretto.spec.model import FieldMapping, FieldSource, LiteralSpec
from stretto.spec.nested import Entries
from stretto.spec.nodes import MapNode, Node, ScalarNode, describe, to_json
from stretto.spec.report import Report
from stretto.spec.shapes import Text
from stretto.spec.texts import EXPRESSION
from stretto.types.json import JsonObject


class FieldSourceShape:
    """An expression, or a constant as ``{value: ...}``."""

    def read(self, node: Node, name: str, report: Report) -> FieldSource | None:
        if isinstance(node, ScalarNode) and isinstance(node.value, str):
            return EXPRESSION.read(node, name, report)
        if isinstance(node, MapNode) and set(node.entries) == {"value"}:
            return LiteralSpec(to_json(node.entries["value"].node), node.span)
        report.add(
            node.span.problem(
                SpecCode.LITERAL,
                f"`{name}` is {describe(node)}, and no expression",
                expected="an expression in quotes, or a constant written as {value: ...}",
                suggestion=self._as_constant(node, name),
            )
        )
        return None

    def schema(self, defs: JsonObject) -> JsonObject:
        constant: JsonObject = {
            "type": "object",
            "description": "a constant",
            "properties": {"value": {}},
            "required": ["value"],
            "additionalProperties": False,
        }
        return {"anyOf": [EXPRESSION.schema(defs), constant]}

    @staticmethod
    def _as_constant(node: Node, name: str) -> str:
        written = node.span.source.text[node.span.start : node.span.end].strip()
        return f"{name}: {{value: {written}}}" if written and "\n" not in written else ""


def field_mappings(key: Text, what: str, *, minimum: int = 1) -> Entries[FieldSource, FieldMapping]:
    """A mapping from names to where their values come from."""
    return Entries(key=key, value=FieldSourceShape(), build=FieldMapping, what=what, minimum=minimum)
