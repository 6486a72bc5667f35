"""Mappings read from columns: a path keeps tensors, an expression is evaluated row by row on detached values."""

from typing import TypeAlias, assert_never

from stretto.learn.differentiable.columns import Column, Fields, Rows, nulls
from stretto.learn.differentiable.frame import ColumnFrame
from stretto.learn.differentiable.lists import Lists
from stretto.learn.differentiable.merging import first_of
from stretto.plan.expr.access import FirstOf, ObjectOf, PathOf, Reading, each_of, reading_of
from stretto.plan.model import Frame, Getter
from stretto.types.errors import ExpressionError
from stretto.types.json import Json, PathPart


class Expression:
    """What is no path: evaluated row by row."""

    def __init__(self, getter: Getter, slots: frozenset[int], length: int) -> None:
        self.getter = getter
        self.slots = slots
        """That it may read."""
        self.length = length
        """Of a frame."""

    def frames(self, frame: ColumnFrame) -> list[Frame]:
        """What it is evaluated on."""
        return frame.json(self.slots, self.length)


Path: TypeAlias = tuple[PathPart, ...]


class Each(Expression):
    """What stands below each item of a list: a path where the list is made of columns, else an expression."""

    def __init__(self, getter: Getter, slots: frozenset[int], length: int, each: tuple[Reading, Path]) -> None:
        super().__init__(getter, slots, length)
        self.items, self.parts = each

    def column(self, frame: ColumnFrame) -> Column | None:
        """What it reads; None where it must be evaluated."""
        lists = _path(self.items, frame)
        if not isinstance(lists, Lists) or None in lists.counts:
            return None
        return Lists(below(lists.items, self.parts), lists.counts).stacked()


Source: TypeAlias = Reading | Expression


def source_of(getter: Getter, slots: frozenset[int], length: int) -> Source:
    """How a getter is read from columns, decided once."""
    each = each_of(getter)
    if each is not None:
        return Each(getter, slots, length, each)
    return reading_of(getter) or Expression(getter, slots, length)


def below(column: Column, parts: Path) -> Column:
    """What stands at a path below each row's value."""
    for part in parts:
        column = column.below(part)
    return column


def column_at(reading: Reading, frame: ColumnFrame) -> Column:
    """What a path reads."""
    column = _path(reading, frame)
    return column.stacked() if isinstance(column, Lists) else column


def _path(reading: Reading, frame: ColumnFrame) -> Column:
    match reading:
        case PathOf():
            column = frame.get(reading.slot)
            return nulls(frame.size) if column is None else below(column, reading.parts)
        case FirstOf():
            return first_of([column_at(each, frame) for each in reading.readings])
        case ObjectOf():
            return Fields({name: column_at(each, frame) for name, each in reading.fields}, frame.size)
        case _:
            assert_never(reading)


def column_of(source: Source, frame: ColumnFrame) -> tuple[Column, dict[int, ExpressionError]]:
    """What a source reads, and the rows in which it has no value, with the reason; null stands there."""
    if not isinstance(source, Expression):
        return column_at(source, frame), {}
    found = source.column(frame) if isinstance(source, Each) else None
    if found is not None:
        return found, {}
    values: list[Json] = []
    failed: dict[int, ExpressionError] = {}
    for row, each in enumerate(source.frames(frame)):
        try:
            values.append(source.getter(each))
        except ExpressionError as error:
            failed[row] = error
            values.append(None)
    return Rows(values), failed
