"""All that can be known of rules before they are asked: `check_rules` is what load, CLI and server stand on."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from stretto.components.rules.codes import RuleCode
from stretto.components.rules.expressions import check_expressions
from stretto.components.rules.facts import going_out, seen_by
from stretto.components.rules.files import RuleFiles, read_files
from stretto.components.rules.model import Model, ModelNode, NodeKind
from stretto.components.rules.table_check import RuleNote, TableVerdict, check_table
from stretto.spec.nodes import quote
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
    _check_answers(files.model, report)
    report.raise_if_any()
    notes = [note for each in verdicts for note in each.notes]
    notes += [note for model in files.models.values() for note in _loose_switches(model)]
    return Analysis(files=files, tables=tuple(verdicts), notes=tuple(notes))


def _check_answers(model: Model, report: Report) -> None:
    """What goes out must be an object; the engine would say so of each input only when it comes."""
    for end in model.of_kind(NodeKind.OUTPUT):
        before = model.before(end)
        if len(before) == 1 and before[0].makes_list:
            message = f"the node {quote(before[0].name)} makes a list, and the rules' answer is an object"
            expected = "an `outputPath`, or an expression node after it"
            report.add(before[0].span.problem(RuleCode.FORM, message, expected=expected))


def _loose_switches(model: Model) -> Iterator[RuleNote]:
    """Switches out of which no way may lead: the engine then answers an empty object, without a word."""
    for node in model.of_kind(NodeKind.SWITCH):
        joined = {edge.branch for edge in model.edges if edge.source == node.id}
        what = f"the switch {quote(node.name)}"
        if all(formula.text.value.strip() for formula in node.formulas):
            yield RuleNote(node.span, f"{what} has no last branch without a condition: where no other opens, {_EMPTY}")
        for formula in node.formulas:
            if formula.key not in joined:
                condition = quote(formula.text.value or "else")
                yield RuleNote(formula.text.span, f"{what} has a branch, {condition}, that leads nowhere: {_EMPTY}")


_EMPTY: Final = "nothing is decided, and the answer is an empty object"


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
            verdict = check_table(node, node.table, seen_by(node, coming), report, is_guarded=node.id in guarded)
            yield verdict
        always = verdict is not None and verdict.always_answers
        leaving[node.id] = given if node.kind is NodeKind.INPUT else going_out(node, coming, always=always)
