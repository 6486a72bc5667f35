"""Takes the keys of a JDM object, and reports the one that is missing or of another type."""

from stretto.components.rules.codes import RuleCode
from stretto.spec.nodes import ListNode, MapNode, Node, ScalarNode, describe
from stretto.spec.report import Report
from stretto.spec.source import Located


def text_in(
    node: MapNode, key: str, what: str, report: Report, *, may_be_empty: bool = False, may_be_missing: bool = False
) -> Located[str] | None:
    """The text under a key; empty text where it may be missing; None after reporting that there is none."""
    found = node.get(key)
    if found is None and may_be_missing:
        return Located("", node.span)
    if isinstance(found, ScalarNode) and isinstance(found.value, str) and (found.value or may_be_empty):
        return Located(found.value, found.span)
    _refuse(node, found, key, what, "text", report)
    return None


def items_of(node: MapNode, key: str, what: str, report: Report) -> tuple[Node, ...] | None:
    """The items of the list under a key; None after reporting that there is none."""
    found = node.get(key)
    if isinstance(found, ListNode):
        return found.items
    _refuse(node, found, key, what, "a list", report)
    return None


def mapping_in(node: MapNode, key: str, what: str, report: Report) -> MapNode | None:
    """The object under a key; None where there is none, after reporting what else stands there."""
    found = node.get(key)
    if found is None or isinstance(found, MapNode):
        return found
    if not (isinstance(found, ScalarNode) and found.value is None):
        _refuse(node, found, key, what, "an object", report)
    return None


def _refuse(node: MapNode, found: Node | None, key: str, what: str, expected: str, report: Report) -> None:
    if found is None:
        report.add(node.span.problem(RuleCode.FORM, f"{what} has no `{key}`", expected=f"`{key}`: {expected}"))
    else:
        report.add(found.span.problem(RuleCode.FORM, f"`{key}` of {what} is {describe(found)}", expected=expected))
