"""From the columns of a table to the axes of its coverage: one for each field, with its values parted."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from stretto.components.rules.cells import constants_of
from stretto.components.rules.coverage import Axis
from stretto.components.rules.facts import (
    NOTHING_KNOWN,
    FieldFacts,
    constants_in,
    field_facts,
    is_path,
    is_sure,
    possible,
)
from stretto.components.rules.model import Table
from stretto.components.rules.oracle import fits
from stretto.components.rules.values import Part, parts_of
from stretto.types.json import Schema

MAX_ASKED: Final = 1_000_000
"""Answers asked of the engine for one field, each cell for each part: half a second, 500 rows of an interval each."""


class FieldAxis(msgspec.Struct, frozen=True, kw_only=True):
    """One field of a table, as its cells see it."""

    field: str
    columns: tuple[int, ...]
    """Input columns that test it."""
    parts: tuple[Part, ...]
    facts: FieldFacts
    fitting: Mapping[str, frozenset[int]]
    """For each cell that could be analysed, the parts that fit it."""
    axis: Axis
    is_large: bool
    """It has too many cells and parts to hold each to each; none of its cells is analysed."""
    is_alone: bool
    """Its values do not hang on those of another axis: it is a plain path, and no axis looks into it."""


def axes_of(table: Table, seen: Schema) -> list[FieldAxis]:
    """The axes of a table whose cells see this; columns without a field cannot be analysed, and are one axis each."""
    by_field: dict[str, list[int]] = {}
    for index, column in enumerate(table.inputs):
        by_field.setdefault(column.field or f"column {column.name}", []).append(index)
    return [_axis(table, field, columns, seen, [*by_field]) for field, columns in by_field.items()]


def _axis(table: Table, field: str, columns: list[int], seen: Schema, fields: Sequence[str]) -> FieldAxis:
    has_field = bool(table.inputs[columns[0]].field)
    facts = field_facts(seen, field) if is_path(field) else NOTHING_KNOWN
    cells = {row.inputs[column].value for row in table.rows for column in columns} - {""}
    known, parts, is_large = _analysable(cells if has_field else set(), facts)
    answers = fits(known, parts)
    fitting = {
        cell: frozenset(part for part, fit in enumerate(answers) if index in fit) for index, cell in enumerate(known)
    }
    everything, nothing = frozenset(range(len(parts))), frozenset[int]()
    rows = [[row.inputs[column].value for column in columns] for row in table.rows]
    may = {"": everything, **dict.fromkeys(cells, everything), **fitting}
    must = {"": everything, **dict.fromkeys(cells, nothing), **fitting}
    return FieldAxis(
        field=field,
        columns=tuple(columns),
        parts=parts,
        facts=facts,
        fitting=fitting,
        is_large=is_large,
        axis=Axis(
            possible=possible(parts, facts),
            may=tuple(frozenset.intersection(*(may[cell] for cell in row)) for row in rows),
            must=tuple(frozenset.intersection(*(must[cell] for cell in row)) for row in rows),
        ),
        is_alone=is_path(field) and not any(_looks_into(field, other) for other in fields),
    )


def _analysable(cells: set[str], facts: FieldFacts) -> tuple[list[str], tuple[Part, ...], bool]:
    """The cells that can be analysed, the parts that they tell apart, and whether there are too many of both."""
    found = {cell: constants for cell in sorted(cells) if (constants := constants_of(cell)) is not None}
    texts, numbers = constants_in(facts.schema)
    parts = parts_of(
        texts.union(*(each.texts for each in found.values())), numbers.union(*(each.numbers for each in found.values()))
    )
    if len(found) * len(parts) > MAX_ASKED:
        return [], parts_of(texts, numbers), True
    return [*found], parts, False


def outcome_of(table: Table) -> Axis:
    """An axis of one part: each row may fit it, and those surely do whose outputs can be computed in any case."""
    whole, nothing = frozenset({0}), frozenset[int]()
    sure = [all(is_sure(cell.value) for cell in row.outputs) for row in table.rows]
    return Axis(possible=whole, may=(whole,) * len(sure), must=tuple(whole if each else nothing for each in sure))


def _looks_into(field: str, other: str) -> bool:
    return other != field and (other.startswith(f"{field}.") or field.startswith(f"{other}."))
