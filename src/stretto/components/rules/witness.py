"""Inputs that exercise rules: for each row of each table that the input comes straight into, one that it fits."""

from collections.abc import Iterator

from stretto.components.rules.axes import FieldAxis, axes_of
from stretto.components.rules.facts import is_path, seen_by
from stretto.components.rules.files import RuleFiles
from stretto.components.rules.model import NodeKind
from stretto.types.json import Json, JsonObject, Schema


def witnesses(files: RuleFiles, given: Schema) -> Iterator[JsonObject]:
    """For each row the fields that it tests, with values that fit it; rows that nothing surely fits are left out.

    `given` is the schema of the input. An earlier row may fit the same: which answers, the rules say.
    """
    model = files.model
    for node in files.orders[files.main]:
        within = "" if node.input_field is None else f"{node.input_field.value}."
        if node.table is None or node.loops or any(each.kind is not NodeKind.INPUT for each in model.before(node)):
            continue
        axes = [axis for axis in axes_of(node.table, seen_by(node, given)) if is_path(within + axis.field)]
        for row in range(len(node.table.rows)):
            found = [(axis.field, _value(axis, row)) for axis in axes]
            if all(value is not None for _, value in found):
                made: JsonObject = {}
                for field, value in found:
                    _put(made, (within + field).split("."), value)
                yield made


def _value(axis: FieldAxis, row: int) -> Json:
    """A value of the field that fits a row; None where none surely does."""
    fitting = sorted(axis.axis.must[row] & axis.axis.possible)
    values = (axis.parts[index].value for index in fitting)
    return next((value for value in values if value is not None), None)


def _put(made: JsonObject, path: list[str], value: Json) -> None:
    for part in path[:-1]:
        inner = made.setdefault(part, {})
        if not isinstance(inner, dict):
            return
        made = inner
    made[path[-1]] = value
