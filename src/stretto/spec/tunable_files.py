"""A workflow's file, and its contract's, as they read with other values in some places."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from stretto.spec.codes import SpecCode
from stretto.spec.contract import CONTRACT
from stretto.spec.domain_keys import MODE
from stretto.spec.model import WorkflowSpec
from stretto.spec.nodes import Entry, ListNode, MapNode, ScalarNode
from stretto.spec.read import read_mapping
from stretto.spec.records import Record
from stretto.spec.report import Report
from stretto.spec.source import Source, Span
from stretto.spec.tunable import Place
from stretto.spec.workflow_keys import WORKFLOW
from stretto.types.json import ValuePath
from stretto.types.meaning import MeaningMode

R = TypeVar("R", bound=msgspec.Struct)


def retuned(spec: WorkflowSpec, changes: Sequence[tuple[Place, Entry]]) -> WorkflowSpec:
    """The file as it reads with other values in those places. Raises SpecError with what they contradict."""
    report = Report()
    for place, entry in changes:
        _hold_to_figure(place, entry, report)
    contract = spec.contract
    own = [(_path(place), entry) for place, entry in changes if not place.in_contract]
    read = _reread(spec, WORKFLOW, spec.source, own, report)
    in_contract = [(_path(place), entry) for place, entry in changes if place.in_contract]
    if contract is not None and spec.contract_path is None:
        contract = read.contract
    elif contract is not None and in_contract:
        contract = _reread(contract, CONTRACT, contract.source, in_contract, report)
    report.raise_if_any()
    fallback = read.fallback
    if fallback is not None and spec.fallback is not None:
        fallback = msgspec.structs.replace(fallback, expectations=spec.fallback.expectations)
    return msgspec.structs.replace(read, contract=contract, fallback=fallback)  # what other files say stays


def _hold_to_figure(place: Place, entry: Entry, report: Report) -> None:
    """Report a value that would take something out of the workflow, and not only change how it goes about it."""
    node = entry.node
    if place.key is MODE and isinstance(node, ScalarNode) and node.text == MeaningMode.OFF:
        report.add(
            node.span.problem(
                SpecCode.VALUE,
                "a setting takes no domain out of what runs, which `off` would",
                expected=", ".join(mode.value for mode in MeaningMode if mode is not MeaningMode.OFF),
                suggestion=f"{MeaningMode.WARN.value}, by which everything passes and is told; or `off` in the file",
            )
        )


def _reread(
    known: R, record: Record[R], source: Source, changes: Sequence[tuple[ValuePath, Entry]], report: Report
) -> R:
    """What a file says with those entries in it; as it was where that cannot be read, which is then reported."""
    tree: Any = read_mapping(source, record.name, Report())  # Any: each graft gives a node of the kind it was given
    for path, entry in changes:
        tree = _grafted(tree, path, entry)
    return record.read(tree, record.name, report) or known


def _path(place: Place) -> ValuePath:
    return (*place.path, place.key.name)


def _grafted(node: Any, path: ValuePath, entry: Entry) -> Any:  # Any: a node of the kind that it was given
    """The tree with an entry at a path; mappings on the way that are not there are made."""
    part, rest = path[0], path[1:]
    if isinstance(node, ListNode) and isinstance(part, int):
        items = (*node.items[:part], _grafted(node.items[part], rest, entry), *node.items[part + 1 :])
        return msgspec.structs.replace(node, items=items)
    assert isinstance(node, MapNode)
    assert isinstance(part, str)
    return msgspec.structs.replace(node, entries=_with_entry(node.entries, part, rest, entry))


def _with_entry(entries: Mapping[str, Entry], part: str, rest: ValuePath, entry: Entry) -> Mapping[str, Entry]:
    if not rest:
        return {**entries, part: entry}
    known = entries.get(part) or Entry(entry.key, MapNode(span=_span_of(entry)))
    return {**entries, part: Entry(known.key, _grafted(known.node, rest, entry))}


def _span_of(entry: Entry) -> Span:
    return entry.node.span
