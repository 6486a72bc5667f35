"""Columns say of their rows what the rows themselves would, whatever they are made of."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from hypothesis import given, strategies as st

from stretto.learn.differentiable.chosen import Choices
from stretto.learn.differentiable.columns import Column, Fields, Rows, Tensors, value_below
from stretto.learn.differentiable.index import Index
from stretto.learn.differentiable.lists import Lists
from stretto.learn.differentiable.merging import first_of, select
from stretto.types.json import Json, PathPart

NAMES = ("a", "b", "c")


@dataclass(frozen=True)
class Kind:
    """One way to keep the same rows."""

    make: str

    def column(self, rows: Sequence[Json], present: Sequence[bool]) -> Column:
        """A column of these rows, null where not present."""
        mask = torch.tensor(present)
        numbers = [float(each) for each in rows]  # type: ignore[arg-type]  # they are whole numbers
        match self.make:
            case "rows":
                return Rows([each if here else None for each, here in zip(numbers, present, strict=True)])
            case "tensors":
                return Tensors(torch.tensor(numbers), mask)
            case "pairs":
                return Tensors(torch.tensor([[each, -each] for each in numbers]).reshape(-1, 2), mask)
            case "choices":
                chosen = torch.tensor([int(each) % 3 for each in numbers], dtype=torch.int64)
                return Choices(NAMES, chosen, torch.zeros(len(numbers), 3, dtype=torch.float64), present=mask)
            case "fields":
                y = Rows([each if here else None for each, here in zip(numbers, present, strict=True)])
                return Fields({"x": Tensors(torch.tensor(numbers), mask), "y": y}, len(numbers), mask)
            case _:
                counts = [int(each) % 4 if here else None for each, here in zip(numbers, present, strict=True)]
                items = [float(place) for count in counts for place in range(count or 0)]
                return Lists(Tensors(torch.tensor(items)), counts)


KINDS = [Kind(each) for each in ("rows", "tensors", "pairs", "choices", "fields", "lists")]


@st.composite
def columns(draw: st.DrawFn, size: int, kind: Kind | None = None) -> Column:
    made = kind or draw(st.sampled_from(KINDS))
    rows = draw(st.lists(st.integers(0, 9), min_size=size, max_size=size))
    present = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    return made.column([*rows], present)


@given(st.data(), st.integers(1, 5))
def test_rows_are_taken_and_put_among_nulls(data: st.DataObject, size: int) -> None:
    column = data.draw(columns(size))
    rows = data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=6))
    assert column.take(Index(rows)).json == [column.json[row] for row in rows]
    places = data.draw(st.permutations(range(size + 3)))[:size]
    spread: list[Json] = [None] * (size + 3)
    for place, value in zip(places, column.json, strict=True):
        spread[place] = value
    assert column.scatter(Index(places), size + 3).json == spread


@given(st.data(), st.integers(1, 5), st.sampled_from(["x", "y", "z", 0, 1, 3]))
def test_what_stands_below_is_what_a_path_reads(data: st.DataObject, size: int, part: PathPart) -> None:
    column = data.draw(columns(size))
    assert column.below(part).json == [value_below(value, part) for value in column.json]


@given(st.data(), st.integers(1, 5), st.booleans())
def test_of_two_columns_rows_are_chosen_one_by_one(data: st.DataObject, size: int, is_alike: bool) -> None:
    kind = data.draw(st.sampled_from(KINDS))
    one, other = data.draw(columns(size, kind)), data.draw(columns(size, kind if is_alike else None))
    mask = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    chosen = [a if first else b for first, a, b in zip(mask, one.json, other.json, strict=True)]
    assert select(torch.tensor(mask), one, other).json == chosen
    assert first_of([one, other]).json == [b if a is None else a for a, b in zip(one.json, other.json, strict=True)]
