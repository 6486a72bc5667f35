"""Builds decision models, so that a test says only what it is about."""

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

Row = tuple[dict[str, str], dict[str, str]]


def table(
    rows: Sequence[Mapping[str, str]],
    inputs: Sequence[str] = ("a",),
    outputs: Sequence[str] = ("o",),
    hit_policy: str = "first",
    **more: Any,
) -> dict[str, Any]:
    """A table's content; each row maps fields to cells, and columns have the id of their field."""
    return {
        "hitPolicy": hit_policy,
        "inputs": [{"id": field, "name": field, "field": field} for field in inputs],
        "outputs": [{"id": field, "name": field, "field": field} for field in outputs],
        "rules": [{"_id": f"r{number}", **row} for number, row in enumerate(rows, start=1)],
        **more,
    }


def node(id_: str, type_: str, content: Any = None, name: str | None = None) -> dict[str, Any]:
    made = {"id": id_, "name": name or id_, "type": type_}
    return made if content is None else {**made, "content": content}


def edge(source: str, target: str, branch: str = "") -> dict[str, Any]:
    made = {"id": f"{source}-{target}-{branch}", "type": "edge", "sourceId": source, "targetId": target}
    return {**made, "sourceHandle": branch} if branch else made


def line(*middle: dict[str, Any], schema: Any = None) -> dict[str, Any]:
    """A model: input, the nodes one after the other, output."""
    start = node("in", "inputNode", None if schema is None else {"schema": json.dumps(schema)})
    nodes = [start, *middle, node("out", "outputNode")]
    ids = [each["id"] for each in nodes]
    return {"nodes": nodes, "edges": [edge(one, other) for one, other in pairwise(ids)]}


def single(content: dict[str, Any], schema: Any = None) -> dict[str, Any]:
    """A model of one table, called Table."""
    return line(node("t", "decisionTableNode", content, "Table"), schema=schema)


def fields(**types: Any) -> dict[str, Any]:
    """The schema of an object of required fields and no others."""
    return {"type": "object", "properties": types, "required": [*types], "additionalProperties": False}


def write(folder: Path, model: Any, name: str = "rules.json") -> Path:
    path = folder / name
    path.write_text(model if isinstance(model, str) else json.dumps(model, indent=1))
    return path
