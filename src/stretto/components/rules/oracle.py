"""Asks the engine itself which cells fit which values, so that no second reading of its language can differ."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import orjson
import zen

from stretto.components.rules.values import Part, Sort
from stretto.types.json import Json, JsonObject

_FIELD: Final = "value"
_NOT_DETERMINISTIC: Final = re.compile(r"\brand\s*\(|\bd\s*\(\s*\)|\b(?:d|date|time)\s*\(\s*[\"'`]now\b")
"""``rand(6)``, ``d()``, ``date("now")``: zen-engine 2.1, functions of its expression language."""
_TOLD_TEXT: Final = re.compile(r"\"(?!now\b)[^\"]*\"|'(?!now\b)[^']*'")
"""Text in which such words mean nothing: ``"in rand (ZAR)"``."""


def fits(cells: Sequence[str], parts: Sequence[Part]) -> list[frozenset[int]]:
    """For each part the indices of the cells that fit its sample, as a decision table finds them."""
    decision = zen.ZenEngine().create_decision(zen.ZenDecisionContent(_table_of(cells)))
    return [frozenset(_indices(decision.evaluate(_context(part))["result"])) for part in parts]


def trouble_with_cell(cell: str) -> str:
    """Why the engine cannot read a cell; empty when it can."""
    return _trouble(zen.compile_unary_expression, cell)


def trouble_with_expression(text: str) -> str:
    """Why the engine cannot read an expression; empty when it can."""
    return _trouble(zen.compile_expression, text)


def is_deterministic(text: str) -> bool:
    """Whether an expression asks neither the clock nor a die."""
    return _NOT_DETERMINISTIC.search(_TOLD_TEXT.sub("''", text)) is None


def first_line(error: Exception) -> str:
    """What the engine says went wrong, without the stack that it appends."""
    source = said_by_engine(error).get("source")
    if isinstance(source, str):
        return source.removeprefix(": ")  # of a schema's complaint about the whole: its place, which is empty
    return " ".join(_told(error).split()) if source is None else orjson.dumps(source).decode()


def said_by_engine(error: Exception) -> JsonObject:
    """The engine's own record of what went wrong: ``type``, ``source``, ``nodeId``; empty when it is plain text."""
    try:
        parsed = orjson.loads(_told(error))
    except orjson.JSONDecodeError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _told(error: Exception) -> str:
    return str(error).partition("\n\nStack backtrace")[0]


def _trouble(compile_: Callable[[str], object], text: str) -> str:
    try:
        compile_(text)
    except RuntimeError as error:
        return first_line(error) or "it cannot be read"
    return ""


def _table_of(cells: Iterable[str]) -> str:
    rows: list[Json] = [{"_id": str(index), "in": cell, "out": str(index)} for index, cell in enumerate(cells)]
    table: JsonObject = {
        "hitPolicy": "collect",
        "inputs": [{"id": "in", "name": "in", "field": _FIELD}],
        "outputs": [{"id": "out", "name": "out", "field": "fits"}],
        "rules": rows,
    }
    nodes: list[Json] = [
        {"id": "in", "name": "in", "type": "inputNode"},
        {"id": "table", "name": "table", "type": "decisionTableNode", "content": table},
        {"id": "out", "name": "out", "type": "outputNode"},
    ]
    edges: list[Json] = [
        {"id": "a", "sourceId": "in", "targetId": "table"},
        {"id": "b", "sourceId": "table", "targetId": "out"},
    ]
    return orjson.dumps({"nodes": nodes, "edges": edges}).decode()


def _context(part: Part) -> str:
    return "{}" if part.sort is Sort.MISSING else f'{{"{_FIELD}": {part.sample}}}'


def _indices(result: object) -> list[int]:
    return [int(row["fits"]) for row in result] if isinstance(result, list) else []
