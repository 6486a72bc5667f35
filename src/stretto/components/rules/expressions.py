"""Holds every expression of a model to the engine's own compiler: the engine passes over what it cannot read."""

import re
from collections.abc import Collection
from typing import Final

from stretto.components.rules.codes import RuleCode
from stretto.components.rules.counting import MAX_COUNT, counts_too_far
from stretto.components.rules.facts import seen_by
from stretto.components.rules.model import ModelNode, NodeKind, Table
from stretto.components.rules.oracle import is_deterministic, trouble_with_cell, trouble_with_expression
from stretto.spec.nodes import quote
from stretto.spec.report import Report
from stretto.spec.source import Located
from stretto.spec.suggest import nearest
from stretto.types.json import Schema

_BARE_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_CONSTANTS: Final = frozenset({"true", "false", "null"})


def check_expressions(node: ModelNode, coming: Schema, report: Report) -> None:
    """Report what the engine cannot read, what depends on clock or die, what counts without end, and words that were
    meant as text."""
    if node.input_field is not None:
        _check(node.input_field, f"the `inputField` of {quote(node.name)}", None, report, is_cell=False)
    if node.table is not None:
        _check_table(node.table, node.name, _closed_fields(seen_by(node, coming)), report)
    for formula in node.formulas:
        is_empty = not formula.text.value.strip()
        if is_empty and node.kind is not NodeKind.SWITCH:
            message = f"`{formula.key}` of {quote(node.name)} is empty, and the engine passes over it"
            report.add(formula.text.span.problem(RuleCode.EXPRESSION, message, expected="an expression"))
        elif not is_empty:
            _check(formula.text, f"`{formula.key}` of {quote(node.name)}", None, report, is_cell=False)


def _check_table(table: Table, name: str, fields: Collection[str] | None, report: Report) -> None:
    for column in table.inputs:
        if column.field:
            what = f"the input column {quote(column.name)} of {quote(name)}"
            _check(Located(column.field, column.span), what, fields, report, is_cell=False, is_field=True)
    for row in table.rows:
        where = f"of {row.label} of {quote(name)}"
        for column, cell in zip(table.inputs, row.inputs, strict=True):
            if cell.value:
                _check(cell, f"the cell {quote(column.name)} {where}", fields, report, is_cell=bool(column.field))
        for column, cell in zip(table.outputs, row.outputs, strict=True):
            if cell.value:
                _check(cell, f"the output {quote(column.name)} {where}", fields, report, is_cell=False)


def _check(
    text: Located[str],
    what: str,
    fields: Collection[str] | None,
    report: Report,
    *,
    is_cell: bool,
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
        report.add(text.span.problem(RuleCode.EXPRESSION, message, expected=expected))
    elif not is_deterministic(value):
        message = f"{what} is {quote(value)}, which asks the clock or a die"
        expected = "the same answer to the same input: take the time as a field of it"
        report.add(text.span.problem(RuleCode.NOT_DETERMINISTIC, message, expected=expected))
    elif counts_too_far(value, is_cell=is_cell):
        message = f"{what} is {quote(value)}, which visits the numbers of a range, and nothing stops it"
        expected = f"a range after `in`; or in a closure, with both ends written out, of at most {MAX_COUNT:,} numbers"
        report.add(text.span.problem(RuleCode.LOOP, message, expected=expected))
    elif fields is not None and _BARE_WORD.fullmatch(value) and value not in {*_CONSTANTS, *fields}:
        message = f"{what} is {quote(value)}, a field that does not come in, so it reads as null"
        known = f"one of {', '.join(sorted(fields))}"
        if is_field:
            near = nearest(value, fields) or "`passThrough: true` in the table before it, if the input has it"
            report.add(text.span.problem(RuleCode.EXPRESSION, message, expected=known, suggestion=near))
            return
        known += ", or a text in quotes"
        report.add(text.span.problem(RuleCode.EXPRESSION, message, expected=known, suggestion=f'"{value}"'))


def _closed_fields(schema: Schema) -> Collection[str] | None:
    """The only fields that come in; None when there may be others."""
    properties = schema.get("properties")
    return [*properties] if isinstance(properties, dict) and schema.get("additionalProperties") is False else None
