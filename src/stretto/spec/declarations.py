"""Components that a file declares without a workflow around them: one by itself, or several by name.

kind: exec
command: [./ledger]
"""

from pathlib import Path
from typing import Final

import msgspec

from stretto.spec.component_keys import KIND, Components, ComponentsShape
from stretto.spec.nodes import Entry, MapNode, ScalarNode
from stretto.spec.read import read_mapping, read_source
from stretto.spec.report import Report
from stretto.spec.workflow_keys import COMPONENTS

STEPS: Final = "steps"
"""A file that has them is a workflow."""

_NAME: Final = "name"
"""What one declaration by itself may say beside its options; the file's own name without the ending when absent."""


def load_declarations(path: Path) -> Components | None:
    """The components that a file declares; None for a workflow, which is read as one.

    Raises SpecError with every problem of the file.
    """
    report = Report()
    top = read_mapping(read_source(path, "declarations of components"), "file of declarations", report)
    if STEPS in top.entries:
        return None
    if KIND in top.entries:
        found = _one(path, top, report)
    else:
        node = top.get(COMPONENTS.name)
        found = ComponentsShape().read(top if node is None else node, COMPONENTS.name, report)
    report.raise_if_any()
    return found or ()


def _one(path: Path, top: MapNode, report: Report) -> Components | None:
    """The declaration that a file consists of, by the name that it gives or has."""
    node = top.get(_NAME)
    name = node.value if isinstance(node, ScalarNode) and isinstance(node.value, str) else path.stem
    options = {key: entry for key, entry in top.entries.items() if key != _NAME}
    declaration = Entry(top.span if node is None else node.span, msgspec.structs.replace(top, entries=options))
    return ComponentsShape().read(MapNode(span=top.span, entries={name: declaration}), COMPONENTS.name, report)
