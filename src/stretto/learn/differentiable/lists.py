"""Columns of lists."""

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate

import torch
from torch import Tensor

from stretto.learn.differentiable.columns import Column, Tensors, nulls
from stretto.learn.differentiable.index import Index
from stretto.types.json import Json, PathPart


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
