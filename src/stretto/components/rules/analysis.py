"""All that can be known of rules before they are asked: `check_rules` is what load, CLI and server stand on."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from stretto.components.rules.expressions import check_expressions
from stretto.components.rules.facts import going_out
from stretto.components.rules.files import RuleFiles, read_files
from stretto.components.rules.model import Model, ModelNode, NodeKind
from stretto.components.rules.table_check import RuleNote, TableVerdict, check_table
from stretto.spec.report import Report
from stretto.types.json import JsonObject, Schema


class Analysis(msgspec.Struct, frozen=True, kw_only=True):
    """Rules that were found sound, and what is to be known of them."""

    files: RuleFiles
    tables: tuple[TableVerdict, ...]
    notes: tuple[RuleNote, ...]


def check_rules(path: Path, given: JsonObject | None = None) -> Analysis:
    """Read rules and analyse each of their tables.

    `given` is the schema of their input, in place of what their input node declares. Raises SpecError with every
    problem found.
    """
    files = read_files(path)
    report = Report()
    verdicts = [
        verdict
        for key, model in files.models.items()
        for verdict in _tables(model, files.orders[key], _input_of(model, given if key == files.main else None), report)
    ]
    report.raise_if_any()
    return Analysis(files=files, tables=tuple(verdicts), notes=tuple(note for each in verdicts for note in each.notes))


def _input_of(model: Model, given: JsonObject | None) -> Schema:
    if given is not None:
        return given
    return model.of_kind(NodeKind.INPUT)[0].schema or {}


def _tables(model: Model, order: tuple[ModelNode, ...], given: Schema, report: Report) -> Iterator[TableVerdict]:
    leaving: dict[str, Schema] = {}
    guarded = set[str]()
    for node in order:
        before = model.before(node)
        coming = given if node.kind is NodeKind.INPUT else leaving[before[0].id] if len(before) == 1 else {}
        guarded |= {node.id for each in before if each.kind is NodeKind.SWITCH or each.id in guarded}
        broken = Report()
        check_expressions(node, coming, broken)
        verdict = None
        if broken:
            broken.into(report)
        elif node.table is not None:
            verdict = check_table(node, node.table, coming, report, is_guarded=node.id in guarded)
            yield verdict
        always = verdict is not None and verdict.always_answers
        leaving[node.id] = given if node.kind is NodeKind.INPUT else going_out(node, coming, always=always)
