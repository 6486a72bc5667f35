"""Columns: what all rows of a batch have at one place.

A plain path is read from a column as from a value. Everything else reads `json`: the rows as the engine would see them,
detached, made once and only when asked for. Where a column says what is present, the other rows read as null.
Shape letters: B rows, A alternatives, M items of all rows.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from stretto.components.torch.choices import log_probabilities
from stretto.learn.differentiable.index import Index
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
        return _but_absent(self.value.detach().tolist(), self._present)

    def below(self, part: PathPart) -> Column:
        if isinstance(part, int) and self.value.dim() > 1 and 0 <= part < self.value.shape[1]:
            return Tensors(self.value[:, part], self._present)
        return nulls(self.size)

    def take(self, index: Index) -> Column:
        return Tensors(self.value[index.on(self.value)], _taken(self._present, index))

    def scatter(self, index: Index, size: int) -> Column:
        return Tensors(spread(self.value, index, size), _spread_presence(self._present, index, size))


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
        return Mixed(self.value[index.on(self.value)], _taken(self._present, index), self._told.take(index).json)

    def scatter(self, index: Index, size: int) -> Column:
        present = _spread_presence(self._present, index, size)
        return Mixed(spread(self.value, index, size), present, self._told.scatter(index, size).json)


class Probabilities(Tensors):
    """Of a choice: made when they are read, which few do."""

    def __init__(self, log_p_BA: Tensor) -> None:
        self._log_p_BA = log_p_BA
        self._present = None
        self.size = log_p_BA.shape[0]

    @cached_property
    def value(self) -> Tensor:  # type: ignore[override]  # as it is read
        return self._log_p_BA.exp()


class Choices(Column):
    """A discrete choice: in JSON its name, to a module one-hot."""

    def __init__(
        self,
        names: tuple[str, ...],
        chosen_B: Tensor,
        log_p_BA: Tensor,
        *,
        relaxed_BA: Tensor | None = None,
        present: Tensor | None = None,
    ) -> None:
        self.names = names
        self.chosen_B = chosen_B
        self.log_p_BA = log_p_BA
        """float64, with its graph."""
        self.relaxed_BA = relaxed_BA
        """What modules are given in place of the one-hot: its value, or near it, with a gradient."""
        self._present = present
        self.size = chosen_B.shape[0]

    @property
    def present(self) -> Tensor | None:
        return self._present

    @property
    def one_hot_BA(self) -> Tensor:
        """What a module is given, float32."""
        if self.relaxed_BA is not None:
            return self.relaxed_BA
        return torch.nn.functional.one_hot(self.chosen_B, len(self.names)).float()

    def rows(self) -> list[Json]:
        return _but_absent([self.names[chosen] for chosen in self.chosen_B.tolist()], self._present)

    def take(self, index: Index) -> Column:
        return self._each(lambda value: value[index.on(value)], _taken(self._present, index))

    def scatter(self, index: Index, size: int) -> Column:
        present = _spread_presence(self._present, index, size)
        return self._each(lambda value: spread(value, index, size), present)

    def _each(self, do: Any, present: Tensor | None) -> "Choices":
        relaxed_BA = None if self.relaxed_BA is None else do(self.relaxed_BA)
        return Choices(self.names, do(self.chosen_B), do(self.log_p_BA), relaxed_BA=relaxed_BA, present=present)


class Drawn(Choices):
    """As they were drawn by a module's logits; tensors of it are made when they are read, which few are."""

    def __init__(self, names: tuple[str, ...], chosen: list[int], logits_BA: Tensor) -> None:
        self.names = names
        self.relaxed_BA = None
        self._chosen = chosen
        self._logits_BA = logits_BA
        self._present = None
        self.size = len(chosen)

    @cached_property
    def chosen_B(self) -> Tensor:  # type: ignore[override]  # as it is read
        return torch.tensor(self._chosen)

    @cached_property
    def log_p_BA(self) -> Tensor:  # type: ignore[override]  # as it is read
        with torch.enable_grad():  # whoever reads it first
            return log_probabilities(self._logits_BA).cpu()

    def rows(self) -> list[Json]:
        return [self.names[chosen] for chosen in self._chosen]


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
        return _but_absent([{name: values[row] for name, values in columns} for row in range(self.size)], self._present)

    def below(self, part: PathPart) -> Column:
        found = self.fields.get(part) if isinstance(part, str) else None
        return nulls(self.size) if found is None else found

    def take(self, index: Index) -> Column:
        taken = {name: column.take(index) for name, column in self.fields.items()}
        return Fields(taken, len(index), _taken(self._present, index))

    def scatter(self, index: Index, size: int) -> Column:
        fields = {name: column.scatter(index, size) for name, column in self.fields.items()}
        return Fields(fields, size, _spread_presence(self._present, index, size))


class Returned(Fields):
    """What a module returned in every row. Its tensors are made columns when they are read as such, which few are."""

    def __init__(
        self, tensors: Mapping[str, Tensor], choices: Mapping[str, "Choices"], size: int, probabilities: str
    ) -> None:
        """`probabilities` ends the name of a field with those of a choice."""
        self.tensors = tensors
        self.size = size
        self._choices = choices
        self._ending = probabilities
        self._present = None

    @cached_property
    def fields(self) -> Mapping[str, Column]:  # type: ignore[override]  # as it is read
        """A column for each name."""
        fields: dict[str, Column] = {name: Tensors(value) for name, value in self.tensors.items()}
        for name, choice in self._choices.items():
            fields[name], fields[name + self._ending] = choice, Probabilities(choice.log_p_BA)
        return fields


class Lists(Column):
    """Lists, of any length: the items of all rows in one column, row after row."""

    def __init__(self, items: Column, counts: Sequence[int | None]) -> None:
        self.items = items
        self.counts = counts
        """Of each row; None where there is no list."""
        self.size = len(counts)

    @cached_property
    def starts(self) -> list[int]:
        """Where each row's items begin."""
        return [0, *accumulate(count or 0 for count in self.counts)]

    @cached_property
    def present(self) -> Tensor | None:
        return None if None not in self.counts else torch.tensor([count is not None for count in self.counts])

    def stacked(self) -> Column:
        """The lists as one tensor [B, N, ...] where each has N items that are tensors; itself otherwise."""
        counts, items = set(self.counts), self.items
        if isinstance(items, Tensors) and items.present is None and len(counts) == 1 and (count := counts.pop()):
            return Tensors(items.value.reshape(self.size, count, *items.value.shape[1:]))
        return self

    def rows(self) -> list[Json]:
        items, starts = self.items.json, self.starts
        return [
            None if count is None else items[at : at + count] for at, count in zip(starts, self.counts, strict=False)
        ]

    def below(self, part: PathPart) -> Column:
        if not isinstance(part, int):
            return nulls(self.size)
        having = [row for row, count in enumerate(self.counts) if count is not None and 0 <= part < count]
        found = self.items.take(Index([self.starts[row] + part for row in having]))
        return found if len(having) == self.size else found.scatter(Index(having), self.size)

    def take(self, index: Index) -> "Lists":
        counts = [self.counts[row] for row in index.rows]
        items = [
            self.starts[row] + item for row, count in zip(index.rows, counts, strict=True) for item in range(count or 0)
        ]
        return Lists(self.items.take(Index(items)), counts)

    def scatter(self, index: Index, size: int) -> Column:
        order = sorted(range(self.size), key=index.rows.__getitem__)
        items = self.items if order == list(range(self.size)) else self.take(Index(order)).items
        counts: list[int | None] = [None] * size
        for row, count in zip(index.rows, self.counts, strict=True):
            counts[row] = count
        return Lists(items, counts)


def nulls(size: int) -> Rows:
    """A column in which nothing is."""
    return Rows([None] * size)


def value_below(value: Json, part: PathPart) -> Json:
    """One step of a path, as the engine's accessors read it: null where there is nothing."""
    if isinstance(part, str):
        return value.get(part) if isinstance(value, dict) else None
    return value[part] if isinstance(value, list) and 0 <= part < len(value) else None


def spread(value: Tensor, index: Index, size: int) -> Tensor:
    """Rows of a tensor put to their places among zeros."""
    return value.new_zeros((size, *value.shape[1:])).index_copy(0, index.on(value), value)


def _but_absent(values: list[Any], present: Tensor | None) -> list[Json]:
    if present is None:
        return values
    return [value if here else None for value, here in zip(values, present.tolist(), strict=True)]


def _taken(present: Tensor | None, index: Index) -> Tensor | None:
    return None if present is None else present[index.tensor]


def _spread_presence(present: Tensor | None, index: Index, size: int) -> Tensor:
    """Presence in a scattered column."""
    return index.mask(size) if present is None else spread(present, index, size)
