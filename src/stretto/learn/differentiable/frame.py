"""A batch's frame: columns by slot. A body's or a narrower frame reads what stands outside from its parent."""

from collections.abc import Iterable

from stretto.learn.differentiable.columns import Column
from stretto.learn.differentiable.index import Index
from stretto.plan.model import Frame


class ColumnFrame:
    """Slot → column, of `size` rows; a slot that nothing was written to reads as null."""

    __slots__ = ("_index", "_own", "_parent", "size")

    def __init__(self, size: int, *, parent: "ColumnFrame | None" = None, index: Index | None = None) -> None:
        """`index` says which row of the parent each of these is; None when they are the same."""
        self.size = size
        self._own: dict[int, Column] = {}
        self._parent = parent
        self._index = index

    def get(self, slot: int) -> Column | None:
        """The column at a slot; None when all of it is null."""
        column = self._own.get(slot)
        if column is None and self._parent is not None:
            column = self._parent.get(slot)
            if column is not None and self._index is not None:
                column = column.take(self._index)
                self._own[slot] = column
        return column

    def put(self, slot: int, column: Column) -> None:
        """Write a slot."""
        self._own[slot] = column

    def json(self, slots: Iterable[int], length: int) -> list[Frame]:
        """A frame of JSON for each row, with those slots filled: what an expression reads."""
        frames: list[Frame] = [[None] * length for _ in range(self.size)]
        for slot in slots:
            column = self.get(slot)
            if column is not None:
                for frame, value in zip(frames, column.json, strict=True):
                    frame[slot] = value
        return frames
