"""Holds every expression of a model to the engine's own compiler: the engine passes over what it cannot read."""

from stretto.components.rules.codes import RuleCode
from stretto.components.rules.counting import MAX_COUNT, counts_too_far
from stretto.components.rules.facts import seen_by
from stretto.components.rules.model import ModelNode, NodeKind, Table
from stretto.components.rules.oracle import is_deterministic, trouble_with_cell, trouble_with_expression
from stretto.components.rules.words import as_text, known_fields, strangers
from stretto.spec.nodes import quote
from stretto.spec.report import Report
from stretto.spec.source import Located
from stretto.spec.suggest import nearest
from stretto.types.json import Schema


def check_expressions(node: ModelNode, coming: Schema, report: Report) -> None:
    """Report what the engine cannot read, what depends on clock or die, what counts without end, and words that were
    meant as text."""
    if node.input_field is not None:
        _check(node.input_field, f"the `inputField` of {quote(node.name)}", known_fields(coming), report, is_field=True)
    seen = known_fields(seen_by(node, coming))
    if node.table is not None:
        _check_table(node.table, node.name, seen, report)
    for formula in node.formulas:
        is_empty = not formula.text.value.strip()
        if is_empty and node.kind is not NodeKind.SWITCH:
            message = f"`{formula.key}` of {quote(node.name)} is empty, and the engine passes over it"
            report.add(formula.text.span.problem(RuleCode.EXPRESSION, message, expected="an expression"))
        elif not is_empty:
            _check(formula.text, f"`{formula.key}` of {quote(node.name)}", seen, report)


def _check_table(table: Table, name: str, fields: frozenset[str], report: Report) -> None:
    for column in table.inputs:
        if column.field:
            what = f"the input column {quote(column.name)} of {quote(name)}"
            _check(Located(column.field, column.span), what, fields, report, is_field=True)
    for row in table.rows:
        where = f"of {row.label} of {quote(name)}"
        for column, cell in zip(table.inputs, row.inputs, strict=True):
            if cell.value:
                _check(cell, f"the cell {quote(column.name)} {where}", fields, report, is_cell=bool(column.field))
        for column, cell in zip(table.outputs, row.outputs, strict=True):
            if cell.value:
                _check(cell, f"the output {quote(column.name)} {where}", fields, report)


def _check(
    text: Located[str],
    what: str,
    fields: frozenset[str],
    report: Report,
    *,
    is_cell: bool = False,
    is_field: bool = False,
) -> None:
    value = text.value
    if is_cell and value == "-":
        message = f"{what} is '-', which the engine reads as a broken expression: the row would never fit"
        report.add(text.span.problem(RuleCode.EXPRESSION, message, expected="an empty cell, which fits everything"))
        return
    trouble = trouble_with_cell(value) if is_cell else trouble_with_expression(value)
    if trouble:
        message = f"{what} is {quote(value)}, which the engine cannot read: {trouble}"
        expected = 'a test such as "low", > 5, [1..10] or nothing' if is_cell else "an expression; text in quotes"
        meant = "" if is_field else as_text(text, is_cell=is_cell)
        report.add(text.span.problem(RuleCode.EXPRESSION, message, expected=expected, suggestion=meant))
    elif not is_deterministic(value):
        message = f"{what} is {quote(value)}, which asks the clock or a die"
        expected = "the same answer to the same input: take the time as a field of it"
        report.add(text.span.problem(RuleCode.NOT_DETERMINISTIC, message, expected=expected))
    elif counts_too_far(value, is_cell=is_cell):
        message = f"{what} is {quote(value)}, which visits the numbers of a range, and nothing stops it"
        expected = f"a range after `in`; or in a closure, with both ends written out, of at most {MAX_COUNT:,} numbers"
        report.add(text.span.problem(RuleCode.LOOP, message, expected=expected))
    elif fields and (unknown := strangers(value, fields)):
        _report_strangers(text, what, unknown, fields, report, is_cell=is_cell, is_field=is_field)


def _report_strangers(
    text: Located[str],
    what: str,
    unknown: list[str],
    fields: frozenset[str],
    report: Report,
    *,
    is_cell: bool,
    is_field: bool,
) -> None:
    """Words that were meant as text, or fields that were mistyped: neither of them would be told by the engine."""
    value = text.value
    named = "" if unknown == [value] else f"{unknown[0]!r} in it is "
    message = f"{what} is {quote(value)}, {named}a field that does not come in, so it reads as null"
    known = f"one of {', '.join(sorted(fields))}"
    if is_field:
        near = nearest(unknown[0], fields) or "`passThrough: true` in the table before it, if the input has it"
        report.add(text.span.problem(RuleCode.EXPRESSION, message, expected=known, suggestion=near))
        return
    known += ", another that the schema of the input declares, or a text in quotes"
    report.add(
        text.span.problem(RuleCode.EXPRESSION, message, expected=known, suggestion=as_text(text, is_cell=is_cell))
    )
