"""A decision model as read: JDM, the JSON format of GoRules' editor, with the place of everything in its file.

Format: docs.gorules.io, "JSON Decision Model (JDM)", and what zen-engine 2.1 reads of it.
"""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

import msgspec

from stretto.spec.source import Located, Span
from stretto.types.json import JsonObject


class NodeKind(StrEnum):
    """What a node does. The engine's others, functions and custom nodes, run code: rules do not."""

    INPUT = "inputNode"
    OUTPUT = "outputNode"
    TABLE = "decisionTableNode"
    EXPRESSION = "expressionNode"
    SWITCH = "switchNode"
    DECISION = "decisionNode"


class HitPolicy(StrEnum):
    """Which rows of a table answer."""

    FIRST = "first"
    """The first that fits."""
    COLLECT = "collect"
    """All that fit, as a list."""


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One column of a table."""

    id: str
    name: str
    """As the editor shows it."""
    field: str
    """An input's expression, or the path that an output writes; empty when each cell is an expression of its own."""
    span: Span


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One rule of a table."""

    number: int
    """1-based."""
    id: str
    means: str
    """What the editor's description says, or empty."""
    inputs: tuple[Located[str], ...]
    """One cell for each input column; empty text fits everything."""
    outputs: tuple[Located[str], ...]
    span: Span

    @property
    def label(self) -> str:
        return f"row {self.number} ({self.means})" if self.means else f"row {self.number}"


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A decision table."""

    hit_policy: HitPolicy
    inputs: tuple[Column, ...]
    outputs: tuple[Column, ...]
    rows: tuple[Row, ...]


class Formula(msgspec.Struct, frozen=True, kw_only=True):
    """An expression of a switch or an expression node."""

    key: str
    """What it writes, or the branch that it opens."""
    text: Located[str]


class ModelNode(msgspec.Struct, frozen=True, kw_only=True):
    """One node of the graph."""

    id: str
    name: str
    kind: NodeKind
    span: Span
    """Of its name, else of the whole."""
    passes_input: bool = False
    """What came in goes out beside what it makes."""
    input_field: Located[str] | None = None
    """The expression that picks what it sees; None when it sees all that comes in."""
    loops: bool = False
    """It is asked for each item of the list that comes in, and makes a list."""
    output_path: str = ""
    """Where it puts what it makes; empty when that is all that goes out."""
    schema: JsonObject | None = None
    """Of an input or output node."""
    table: Table | None = None
    formulas: tuple[Formula, ...] = ()
    decision: Located[str] | None = None
    """The file that a decision node names."""

    @property
    def makes_list(self) -> bool:
        """What goes out of it is no object."""
        collects = self.table is not None and self.table.hit_policy is HitPolicy.COLLECT
        return not self.output_path and (self.loops or collects)


class Edge(msgspec.Struct, frozen=True, kw_only=True):
    """From one node to another."""

    source: str
    target: str
    branch: str
    """Of a switch: the statement that opens it; empty elsewhere."""
    span: Span


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """One file."""

    path: Path
    span: Span
    nodes: Mapping[str, ModelNode]
    edges: tuple[Edge, ...]
    document: JsonObject
    """The file as it stands, for the engine."""

    def of_kind(self, kind: NodeKind) -> tuple[ModelNode, ...]:
        return tuple(node for node in self.nodes.values() if node.kind is kind)

    def before(self, node: ModelNode) -> tuple[ModelNode, ...]:
        """Where edges into a node come from."""
        found = {edge.source: None for edge in self.edges if edge.target == node.id}
        return tuple(self.nodes[name] for name in found if name in self.nodes)
