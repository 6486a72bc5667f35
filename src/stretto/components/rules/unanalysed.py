"""What of a table could not be analysed, in words, with its place where that is not the table's own."""

from collections.abc import Iterator, Sequence

from stretto.components.rules.axes import FieldAxis
from stretto.components.rules.coverage import Axis
from stretto.components.rules.model import Table
from stretto.spec.nodes import quote
from stretto.spec.source import Span

Why = tuple[Span | None, str]


def unanalysed(table: Table, axes: Sequence[FieldAxis], outcome: Axis) -> Iterator[Why]:
    """Each reason once, with how often it holds."""
    for axis in axes:
        if axis.is_large:
            yield None, f"`{axis.field}` is compared with too many values, in too many cells"
    yield from _cells(table, axes)
    yield from _outputs(table, outcome)
    tied = [axis.field for axis in axes if not axis.is_alone and table.inputs[axis.columns[0]].field]
    if tied:
        named = ", ".join(f"`{field}`" for field in tied)
        yield None, f"{named} may hang on its other columns, which is not looked into"


def _cells(table: Table, axes: Sequence[FieldAxis]) -> Iterator[Why]:
    left = [
        (row, cell)
        for row in table.rows
        for axis in axes
        for cell in (row.inputs[column] for column in axis.columns)
        if cell.value and cell.value not in axis.fitting and not axis.is_large
    ]
    for row, cell in left[:1]:
        number = f"{len(left)} of its cells" if len(left) > 1 else "one of its cells"
        yield cell.span, f"{number} cannot be, such as {quote(cell.value)} in {row.label}"


def _outputs(table: Table, outcome: Axis) -> Iterator[Why]:
    unsure = [row for row, must in zip(table.rows, outcome.must, strict=True) if not must]
    for row in unsure[:1]:
        number = f"{len(unsure)} of its rows compute" if len(unsure) > 1 else "one of its rows computes"
        why = "and the engine passes over a row whose output cannot be computed"
        yield row.span, f"{number} an output, such as {row.label}, {why}"
