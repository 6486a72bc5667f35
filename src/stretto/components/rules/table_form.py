"""Reads the content of a decision table."""

from collections.abc import Iterator

from stretto.components.rules.codes import RuleCode
from stretto.components.rules.model import Column, HitPolicy, ModelNode, Row, Table
from stretto.components.rules.taking import items_of, text_in
from stretto.spec.nodes import MapNode, Node, ScalarNode, describe, quote
from stretto.spec.report import Report
from stretto.spec.source import Located
from stretto.spec.suggest import nearest


def table_of(content: MapNode, node: ModelNode, report: Report) -> Table | None:
    """The table in a node's content; None after reporting what is wrong with it."""
    what = f"the table {quote(node.name)}"
    hit_policy = _hit_policy(content, what, report)
    inputs, outputs = _columns(content, "inputs", what, report), _columns(content, "outputs", what, report)
    rows = items_of(content, "rules", what, report)
    if hit_policy is None or inputs is None or outputs is None or rows is None:
        return None
    if not outputs:
        report.add(content.span.problem(RuleCode.FORM, f"{what} has no output column", expected="one or more"))
    if not rows:
        message = f"{what} has no row, so it answers nothing"
        report.add(content.span.problem(RuleCode.GAP, message, expected="one or more rows"))
    return Table(
        hit_policy=hit_policy,
        inputs=inputs,
        outputs=outputs,
        rows=tuple(_rows(rows, inputs, outputs, what, report)),
    )


def _hit_policy(content: MapNode, what: str, report: Report) -> HitPolicy | None:
    found = content.get("hitPolicy")
    if found is None:
        return HitPolicy.FIRST
    words = [each.value for each in HitPolicy]
    written = found.value if isinstance(found, ScalarNode) else None
    if isinstance(written, str) and written in words:
        return HitPolicy(written)
    near = nearest(written, words) if isinstance(written, str) else None
    message = f"the hit policy of {what} is {describe(found)}"
    report.add(found.span.problem(RuleCode.FORM, message, expected=f"one of {', '.join(words)}", suggestion=near or ""))
    return None


def _columns(content: MapNode, key: str, what: str, report: Report) -> tuple[Column, ...] | None:
    items = items_of(content, key, what, report)
    if items is None:
        return None
    read = [_column(item, key, what, report) for item in items]
    return tuple(column for column in read if column is not None)


def _column(item: Node, key: str, what: str, report: Report) -> Column | None:
    if not isinstance(item, MapNode):
        report.add(
            item.span.problem(RuleCode.FORM, f"one of `{key}` of {what} is {describe(item)}", expected="a column")
        )
        return None
    id_ = text_in(item, "id", f"a column of {what}", report)
    field = text_in(item, "field", f"a column of {what}", report, may_be_empty=True, may_be_missing=key == "inputs")
    if id_ is None or field is None:
        return None
    name = _said(item, "name") or field.value or id_.value
    if not field.value and key == "outputs":
        message = f"the output column {quote(name)} of {what} names no field"
        report.add(item.span.problem(RuleCode.FORM, message, expected="`field`: the path that it writes"))
    return Column(id=id_.value, name=name, field=field.value.strip(), span=item.span)


def _rows(
    items: tuple[Node, ...], inputs: tuple[Column, ...], outputs: tuple[Column, ...], what: str, report: Report
) -> Iterator[Row]:
    ids = [column.id for column in (*inputs, *outputs)]
    for number, item in enumerate(items, start=1):
        if not isinstance(item, MapNode):
            message = f"row {number} of {what} is {describe(item)}"
            report.add(item.span.problem(RuleCode.FORM, message, expected="an object with a cell by column id"))
            continue
        _check_keys(item, ids, f"row {number} of {what}", report)
        yield Row(
            number=number,
            id=_said(item, "_id") or str(number),
            means=_said(item, "_description"),
            inputs=tuple(_cell(item, column, number, what, report) for column in inputs),
            outputs=tuple(_cell(item, column, number, what, report) for column in outputs),
            span=item.span,
        )


def _check_keys(item: MapNode, ids: list[str], label: str, report: Report) -> None:
    """The engine passes over a cell of no column, and the row then answers more than it says."""
    for key, entry in item.entries.items():
        if key not in ids and not key.startswith("_"):
            message = f"{label} has a cell for the column {quote(key)}, and there is none of that id"
            suggestion = nearest(key, ids) or "remove the cell"
            report.add(
                entry.key.problem(RuleCode.FORM, message, expected=f"one of {', '.join(ids)}", suggestion=suggestion)
            )


def _cell(row: MapNode, column: Column, number: int, what: str, report: Report) -> Located[str]:
    label = f"row {number} of {what}"
    cell = text_in(row, column.id, label, report, may_be_empty=True, may_be_missing=True)
    return Located("", row.span) if cell is None else Located(cell.value.strip(), cell.span)


def _said(node: MapNode, key: str) -> str:
    found = node.get(key)
    return found.value if isinstance(found, ScalarNode) and isinstance(found.value, str) else ""
