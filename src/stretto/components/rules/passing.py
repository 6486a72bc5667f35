"""Reads what a node takes of what comes in, and where it puts what it makes; the keys are the same in every kind."""

from typing import Any, Final

from stretto.components.rules.codes import RuleCode
from stretto.components.rules.model import ModelNode
from stretto.components.rules.taking import text_in
from stretto.spec.nodes import MapNode, ScalarNode, describe, quote
from stretto.spec.report import Report
from stretto.spec.source import Located
from stretto.spec.suggest import nearest

_LOOP: Final = "loop"
_MODES: Final = ("single", _LOOP)


def passing_of(content: MapNode, node: ModelNode, report: Report) -> dict[str, Any]:  # Any: fields of a ModelNode
    """The fields of a node that say what passes through it and how; what the engine would refuse is reported."""
    what = f"the node {quote(node.name)}"
    path = _text(content, "outputPath", what, report)
    return {
        "passes_input": _flag(content, "passThrough", what, report),
        "input_field": _text(content, "inputField", what, report),
        "output_path": "" if path is None else path.value,
        "loops": _mode(content, what, report) == _LOOP,
    }


def _text(content: MapNode, key: str, what: str, report: Report) -> Located[str] | None:
    """The text under a key; the editor writes null where there is none."""
    found = content.get(key)
    if found is None or (isinstance(found, ScalarNode) and found.value is None):
        return None
    text = text_in(content, key, what, report, may_be_empty=True)
    return text if text is not None and text.value else None


def _flag(content: MapNode, key: str, what: str, report: Report) -> bool:
    found = content.get(key)
    if found is None:
        return False
    if isinstance(found, ScalarNode) and isinstance(found.value, bool):
        return found.value
    message = f"`{key}` of {what} is {describe(found)}"
    report.add(found.span.problem(RuleCode.FORM, message, expected="true or false"))
    return False


def _mode(content: MapNode, what: str, report: Report) -> str:
    found = content.get("executionMode")
    written = found.value if isinstance(found, ScalarNode) else None
    if found is None or written in _MODES:
        return str(written)
    near = nearest(written, _MODES) if isinstance(written, str) else None
    message = f"`executionMode` of {what} is {describe(found)}"
    expected = f"one of {', '.join(_MODES)}"
    report.add(found.span.problem(RuleCode.FORM, message, expected=expected, suggestion=near or ""))
    return ""
