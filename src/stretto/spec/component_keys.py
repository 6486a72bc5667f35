"""What may stand under `components`: files of Python, and declarations by name."""

from typing import Final

from stretto.spec.codes import SpecCode
from stretto.spec.model import ComponentDecl, ComponentFile, ComponentKind
from stretto.spec.nodes import Entry, ListNode, MapNode, Node, ScalarNode, quote
from stretto.spec.report import Report
from stretto.spec.shapes import Choice, wrong_type, wrong_value
from stretto.spec.source import Located
from stretto.spec.texts import COMPONENT_NAME, PYTHON_FILE
from stretto.types.json import JsonObject

KIND: Final = "kind"

LATER_KINDS: Final = ("lua", "workflow")

_EXPECTED: Final = "the path of a .py file, a mapping of names to declarations, or a list of these"
_KINDS: Final = Choice(ComponentKind)

Components = tuple[ComponentFile | ComponentDecl, ...]


class ComponentsShape:
    """A path, a mapping of declarations, or a list of both."""

    def read(self, node: Node, name: str, report: Report) -> Components | None:
        if not isinstance(node, ListNode):
            return self._part(node, name, report)
        if not node.items:
            report.add(wrong_value(node, name, _EXPECTED))
        return tuple(part for item in node.items for part in self._part(item, name, report))

    def schema(self, defs: JsonObject) -> JsonObject:
        file = PYTHON_FILE.schema(defs)
        declarations: JsonObject = {
            "type": "object",
            "minProperties": 1,
            "propertyNames": {key: rule for key, rule in COMPONENT_NAME.schema(defs).items() if key != "type"},
            "additionalProperties": {
                "type": "object",
                "description": "a component; the other keys depend on its kind",
                "properties": {KIND: _KINDS.schema(defs)},
                "required": [KIND],
            },
        }
        return {
            "anyOf": [file, declarations, {"type": "array", "minItems": 1, "items": {"anyOf": [file, declarations]}}]
        }

    def _part(self, node: Node, name: str, report: Report) -> Components:
        if isinstance(node, MapNode):
            if not node.entries:
                report.add(wrong_value(node, name, _EXPECTED))
            read = [self._declaration(key, entry, report) for key, entry in node.entries.items()]
            return tuple(declaration for declaration in read if declaration is not None)
        if isinstance(node, ScalarNode) and isinstance(node.value, str):
            path = PYTHON_FILE.read(node, name, report)
            return (ComponentFile(path),) if path else ()
        report.add(wrong_type(node, name, _EXPECTED))
        return ()

    def _declaration(self, name: str, entry: Entry, report: Report) -> ComponentDecl | None:
        located = COMPONENT_NAME.check(Located(name, entry.key), "a key of `components`", report)
        node = entry.node
        if not isinstance(node, MapNode):
            report.add(wrong_type(node, name, "a declaration: a mapping with a `kind`", _declared(name, node)))
            return None
        kind = self._kind(node, name, report)
        if located is None or kind is None:
            return None
        options = {option: value for option, value in node.entries.items() if option != KIND}
        return ComponentDecl(name=located, kind=kind, options=MapNode(span=node.span, entries=options))

    def _kind(self, node: MapNode, name: str, report: Report) -> ComponentKind | None:
        kind = node.get(KIND)
        if kind is None:
            report.add(
                node.span.problem(
                    SpecCode.MISSING_KEY,
                    f"the component {quote(name)} has no `{KIND}`",
                    expected=f"`{KIND}`: one of {', '.join(ComponentKind)}",
                    suggestion=f"{KIND}: mcp",
                )
            )
            return None
        if isinstance(kind, ScalarNode) and kind.value in LATER_KINDS:
            message = f"components of kind {quote(kind.text)} are not supported in this version of Stretto"
            report.add(
                kind.span.problem(SpecCode.NOT_SUPPORTED, message, expected=f"one of {', '.join(ComponentKind)}")
            )
            return None
        return _KINDS.read(kind, KIND, report)


def _declared(name: str, node: Node) -> str:
    """A declaration in the place of what is none: of a server, where an address stands there."""
    value = node.value if isinstance(node, ScalarNode) else None
    is_address = isinstance(value, str) and value.startswith("acp+")
    return f'{name}: {{kind: acp, url: "{value}"}}' if is_address else f"{name}: {{kind: mcp, ...}}"
