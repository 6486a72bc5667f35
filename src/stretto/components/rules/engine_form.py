"""A model as the engine wants it: it insists on keys that decide nothing, which people who write by hand leave out."""

from typing import Any

from stretto.types.json import Json, JsonObject


def for_engine(document: JsonObject) -> JsonObject:
    """The document with the names, ids and defaults that the engine asks for; what is there stays."""
    nodes, edges = _items(document.get("nodes")), _items(document.get("edges"))
    filled_nodes: list[Json] = [_node(node) for node in nodes]
    filled_edges: list[Json] = [{"id": f"edge {number}", **edge} for number, edge in enumerate(edges)]
    return {"nodes": filled_nodes, "edges": filled_edges}


def _node(node: JsonObject) -> JsonObject:
    filled: JsonObject = {"name": node.get("id"), **node}
    content = node.get("content")
    if not isinstance(content, dict):
        return filled
    match node.get("type"):
        case "decisionTableNode":
            filled["content"] = {"hitPolicy": "first", **content}
        case "expressionNode":
            filled["content"] = {**content, "expressions": _numbered(content.get("expressions"), "value")}
        case "switchNode":
            filled["content"] = {**content, "statements": _numbered(content.get("statements"), "condition")}
    return filled


def _numbered(value: Json, text: str) -> list[Json]:
    return [{"id": str(number), text: "", **item} for number, item in enumerate(_items(value))]


def _items(value: Any) -> list[JsonObject]:  # Any: what a file holds; anything but a list of objects was refused before
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
