"""Reads one file of rules into a model; what is wrong with its form is reported at its place."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from stretto.components.rules.codes import RuleCode
from stretto.components.rules.model import Edge, Formula, Model, ModelNode, NodeKind
from stretto.components.rules.passing import passing_of
from stretto.components.rules.table_form import table_of
from stretto.components.rules.taking import items_of, mapping_in, text_in
from stretto.spec.json_schema import check_json_schema
from stretto.spec.json_tree import json_tree
from stretto.spec.nodes import MapNode, Node, describe, quote, to_json_object
from stretto.spec.read import read_source
from stretto.spec.report import Report
from stretto.spec.source import Located, Source
from stretto.spec.suggest import nearest
from stretto.spec.yaml_tree import yaml_tree
from stretto.types.json import JsonObject

MAX_VALUES: Final = 200_000
"""In one file of JSON. A table of 5,000 rows by 10 columns has a third of it, and fills the 1 MiB of a file."""

_DIALECT: Final = "$schema"
"""The editor writes draft 07; what it makes reads the same in 2020-12."""

_RUNS_CODE: Final = {
    "functionNode": "runs JavaScript, which may ask the network or the clock",
    "customNode": "runs code of the program that it is embedded in",
}


def read_model(path: Path, report: Report) -> Model | None:
    """The model that a file holds; None after reporting why there is none.

    Raises SpecError when the file is not there, too large, or not JSON.
    """
    source = read_source(path, "a file of rules")
    is_json = path.suffix.lower() == ".json"
    root = json_tree(source, report, MAX_VALUES) if is_json else yaml_tree(source, report)
    if root is None:
        report.fail(source.problem(0, 0, RuleCode.FORM, "this file of rules is empty", expected=_EXPECTED))
    if not isinstance(root, MapNode):
        _form(root, f"the top of this file of rules is {describe(root)}", _EXPECTED, report)
        return None
    nodes, edges = items_of(root, "nodes", "a decision model", report), items_of(root, "edges", "it", report)
    if nodes is None or edges is None:
        return None
    return Model(
        path=path,
        span=root.span,
        nodes=_by_id(nodes, report),
        edges=tuple(_edges(edges, report)),
        document=to_json_object(root),
    )


_EXPECTED: Final = "a JDM decision model: {nodes: [...], edges: [...]}, as GoRules' editor saves it"


def _by_id(nodes: tuple[Node, ...], report: Report) -> dict[str, ModelNode]:
    found: dict[str, ModelNode] = {}
    for node in nodes:
        read = _node(node, report)
        if read is None:
            continue
        if read.id in found:
            message = f"two nodes have the id {quote(read.id)}; the first is {quote(found[read.id].name)}"
            report.add(read.span.problem(RuleCode.NODE, message, expected="an id of its own for each node"))
        found.setdefault(read.id, read)
    return found


def _node(node: Node, report: Report) -> ModelNode | None:
    if not isinstance(node, MapNode):
        _form(node, f"a node is {describe(node)}", "an object with id, name, type and content", report)
        return None
    id_, type_ = text_in(node, "id", "a node", report), text_in(node, "type", "a node", report)
    if id_ is None or type_ is None:
        return None
    kind = _kind(type_, report)
    if kind is None:
        return None
    name_node = node.get("name")
    name = str(to_json_object(node).get("name") or id_.value)
    content = mapping_in(node, "content", f"the node {quote(name)}", report)
    made = ModelNode(id=id_.value, name=name, kind=kind, span=(name_node or node).span)
    return _filled(made, content, report)


def _kind(type_: Located[str], report: Report) -> NodeKind | None:
    kinds = [kind.value for kind in NodeKind]
    if type_.value in kinds:
        return NodeKind(type_.value)
    why = _RUNS_CODE.get(type_.value, "is none that the engine knows")
    near = nearest(type_.value, kinds) or ""
    message = f"the node type {quote(type_.value)} {why}"
    report.add(type_.span.problem(RuleCode.NODE, message, expected=f"one of {', '.join(kinds)}", suggestion=near))
    return None


def _filled(node: ModelNode, content: MapNode | None, report: Report) -> ModelNode | None:
    """The node with what its kind holds; None after reporting what is wrong with it."""
    held: dict[str, object] = {}
    if content is None:
        if node.kind in (NodeKind.INPUT, NodeKind.OUTPUT):
            return node
        message = f"the node {quote(node.name)} of type {node.kind} has no `content`"
        report.add(node.span.problem(RuleCode.FORM, message, expected="what it decides, in `content`"))
        return None
    if node.kind in (NodeKind.INPUT, NodeKind.OUTPUT):
        held["schema"] = _schema(content, node, report)
    elif node.kind is NodeKind.TABLE:
        held["table"] = table_of(content, node, report)
    elif node.kind is NodeKind.DECISION:
        held["decision"] = text_in(content, "key", f"the decision node {quote(node.name)}", report)
    else:
        held["formulas"] = tuple(_formulas(content, node, report))
    if node.kind is NodeKind.SWITCH:
        held["passes_input"] = True
    elif node.kind in (NodeKind.TABLE, NodeKind.EXPRESSION, NodeKind.DECISION):
        held |= passing_of(content, node, report)
    return msgspec.structs.replace(node, **held)


def _schema(content: MapNode, node: ModelNode, report: Report) -> JsonObject | None:
    """The JSON Schema of an input or output node: the editor keeps it as text, programs as an object."""
    given = content.get("schema")
    if given is None:
        return None
    if isinstance(given, MapNode):
        schema = to_json_object(given)
        return schema if check_json_schema(given, schema, report) else None
    text = text_in(content, "schema", f"the node {quote(node.name)}", report, may_be_empty=True)
    if text is None or not text.value.strip():
        return None
    try:
        loaded = json.loads(text.value)
    except ValueError as error:
        _form(given, f"the schema of {quote(node.name)} is no JSON: {error}", "a JSON Schema, as text", report)
        return None
    inside = Source(f"{given.span.source.name}, schema of {quote(node.name)}", text.value)
    tree = json_tree(inside, report, MAX_VALUES)
    if not isinstance(tree, MapNode) or not isinstance(loaded, dict):
        _form(given, f"the schema of {quote(node.name)} is {describe(tree or given)}", "a JSON Schema, as text", report)
        return None
    entries = {key: entry for key, entry in tree.entries.items() if key != _DIALECT}
    undated = {key: value for key, value in loaded.items() if key != _DIALECT}
    return undated if check_json_schema(MapNode(span=tree.span, entries=entries), undated, report) else None


def _formulas(content: MapNode, node: ModelNode, report: Report) -> Iterator[Formula]:
    """Statements of a switch, or expressions of an expression node."""
    is_switch = node.kind is NodeKind.SWITCH
    listed, key, text = ("statements", "id", "condition") if is_switch else ("expressions", "key", "value")
    for item in items_of(content, listed, f"the node {quote(node.name)}", report) or ():
        if not isinstance(item, MapNode):
            _form(item, f"one of `{listed}` is {describe(item)}", f"an object with {key} and {text}", report)
            continue
        held = to_json_object(item)
        if not is_switch and not (held.get(key) or held.get(text)):
            continue  # the editor saves the line that nobody wrote on, and the engine passes over it
        name = text_in(item, key, f"one of `{listed}`", report)
        value = text_in(item, text, f"one of `{listed}`", report, may_be_empty=True, may_be_missing=True)
        if name is not None and value is not None:
            yield Formula(key=name.value, text=value)


def _edges(edges: tuple[Node, ...], report: Report) -> Iterator[Edge]:
    for edge in edges:
        if not isinstance(edge, MapNode):
            _form(edge, f"an edge is {describe(edge)}", "an object with sourceId and targetId", report)
            continue
        source, target = text_in(edge, "sourceId", "an edge", report), text_in(edge, "targetId", "an edge", report)
        branch = to_json_object(edge).get("sourceHandle")
        if source is not None and target is not None:
            yield Edge(
                source=source.value,
                target=target.value,
                branch=branch if isinstance(branch, str) else "",
                span=edge.span,
            )


def _form(node: Node, message: str, expected: str, report: Report) -> None:
    report.add(node.span.problem(RuleCode.FORM, message, expected=expected))
