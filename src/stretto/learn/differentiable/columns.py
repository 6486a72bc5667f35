"""Columns: what all rows of a batch have at one place.

A plain path is read from a column as from a value. Everything else reads `json`: the rows as the engine would see them,
detached, made once and only when asked for. Where a column says what is present, the other rows read as null.
Shape letter: B rows.
"""

from collections.abc import Mapping
from functools import cached_property

import torch
from torch import Tensor

from stretto.learn.differentiable.index import Index
from stretto.learn.differentiable.presence import but_absent, scattered, taken
from stretto.types.json import Json, PathPart


class Column:
    """One place of B rows. No ABC: what a step reads is told apart by class, many times a batch."""

    size: int

    @property
    def present(self) -> Tensor | None:
        """[B], False where null is read; None when nothing is null."""
        raise NotImplementedError

    def rows(self) -> list[Json]:
        """As JSON."""
        raise NotImplementedError

    @cached_property
    def json(self) -> list[Json]:
        """As JSON, detached; made once. Whoever changes a value takes a copy."""
        return self.rows()

    def below(self, part: PathPart) -> "Column":  # noqa: ARG002  # of most columns nothing is below
        """What stands below each row's value at a name or index; null where nothing does."""
        return nulls(self.size)

    def take(self, index: Index) -> "Column":
        """These rows."""
        raise NotImplementedError

    def scatter(self, index: Index, size: int) -> "Column":
        """A column of that size which has these rows there, and null elsewhere."""
        raise NotImplementedError


class Rows(Column):
    """JSON values."""

    def __init__(self, values: list[Json]) -> None:
        self.values = values
        self.size = len(values)
        self._below: dict[PathPart, Column] = {}
        """What was read below: of a batch's input, the same in each pass."""

    @cached_property
    def present(self) -> Tensor | None:
        if None not in self.values:
            return None
        return torch.tensor([value is not None for value in self.values])

    def rows(self) -> list[Json]:
        return self.values

    def below(self, part: PathPart) -> Column:
        if part not in self._below:
            self._below[part] = Rows([value_below(value, part) for value in self.values])
        return self._below[part]

    def take(self, index: Index) -> Column:
        values = self.values
        return Rows([values[row] for row in index.rows])

    def scatter(self, index: Index, size: int) -> Column:
        spread: list[Json] = [None] * size
        for row, value in zip(index.rows, self.values, strict=True):
            spread[row] = value
        return Rows(spread)


class Tensors(Column):
    """A tensor [B, ...], with its graph."""

    def __init__(self, value: Tensor, present: Tensor | None = None) -> None:
        self.value = value
        self._present = present
        self.size = value.shape[0]

    @property
    def present(self) -> Tensor | None:
        return self._present

    def rows(self) -> list[Json]:
        return but_absent(self.value.detach().tolist(), self._present)

    def below(self, part: PathPart) -> Column:
        if isinstance(part, int) and self.value.dim() > 1 and 0 <= part < self.value.shape[1]:
            return Tensors(self.value[:, part], self._present)
        return nulls(self.size)

    def take(self, index: Index) -> Column:
        return Tensors(self.value[index.on(self.value)], taken(self._present, index))

    def scatter(self, index: Index, size: int) -> Column:
        return Tensors(index.spread(self.value, size), scattered(self._present, index, size))


class Mixed(Tensors):
    """Tensors of which some rows are JSON values, which are told as they were and not as the tensor rounds them."""

    def __init__(self, value: Tensor, present: Tensor | None, told: list[Json]) -> None:
        super().__init__(value, present)
        self._told = Rows(told)

    def rows(self) -> list[Json]:
        return self._told.values

    def below(self, part: PathPart) -> Column:
        found = super().below(part)
        return Mixed(found.value, found.present, self._told.below(part).json) if isinstance(found, Tensors) else found

    def take(self, index: Index) -> Column:
        return Mixed(self.value[index.on(self.value)], taken(self._present, index), self._told.take(index).json)

    def scatter(self, index: Index, size: int) -> Column:
        present = scattered(self._present, index, size)
        return Mixed(index.spread(self.value, size), present, self._told.scatter(index, size).json)


class Fields(Column):
    """Objects: a column for each name, null wherever the object is."""

    def __init__(self, fields: Mapping[str, Column], size: int, present: Tensor | None = None) -> None:
        self.fields = fields
        self.size = size
        self._present = present

    @property
    def present(self) -> Tensor | None:
        return self._present

    def rows(self) -> list[Json]:
        columns = [(name, column.json) for name, column in self.fields.items()]
        return but_absent([{name: values[row] for name, values in columns} for row in range(self.size)], self._present)

    def below(self, part: PathPart) -> Column:
        found = self.fields.get(part) if isinstance(part, str) else None
        return nulls(self.size) if found is None else found

    def take(self, index: Index) -> Column:
        fields = {name: column.take(index) for name, column in self.fields.items()}
        return Fields(fields, len(index), taken(self._present, index))

    def scatter(self, index: Index, size: int) -> Column:
        fields = {name: column.scatter(index, size) for name, column in self.fields.items()}
        return Fields(fields, size, scattered(self._present, index, size))


def nulls(size: int) -> Rows:
    """A column in which nothing is."""
    return Rows([None] * size)


def value_below(value: Json, part: PathPart) -> Json:
    """One step of a path, as the engine's accessors read it: null where there is nothing."""
    if isinstance(part, str):
        return value.get(part) if isinstance(value, dict) else None
    return value[part] if isinstance(value, list) and 0 <= part < len(value) else None
