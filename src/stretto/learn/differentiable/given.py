"""What a module is called with: tensors and lists of some rows, and the rows that break its schema.

What it reads of the requests is made once for each batch, and lent to every pass over it.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any, TypeGuard

import torch
from torch import Tensor

from stretto.components.torch.component import TorchComponent
from stretto.components.torch.shape import Shape, Tensorial
from stretto.components.torch.signature import REFERENCE
from stretto.components.torch.values import dtype_of
from stretto.learn.differentiable.cohort import Cohort
from stretto.learn.differentiable.columns import Column, Rows, Tensors, nulls
from stretto.learn.differentiable.data import Batch
from stretto.learn.differentiable.fitting import fitted
from stretto.learn.differentiable.frame import ColumnFrame
from stretto.learn.differentiable.index import Index
from stretto.learn.differentiable.reading import Source, column_at
from stretto.learn.differentiable.underway import Underway
from stretto.plan.check import Check
from stretto.plan.expr.access import PathOf
from stretto.plan.model import INPUT


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Of one call."""

    fields: dict[str, Any]
    """Parameter → a tensor [B, ...], or a list of B values."""
    misfits: Set[int]
    """Rows that break the module's schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What one step reads of a batch's requests."""

    columns: Mapping[str, Column]
    tensors: Mapping[str, Tensor]
    misfits: frozenset[int]
    """Rows that break the schema of a tensor."""

    def of(self, index: Index) -> "Asked":
        """Of some of the requests."""
        return Asked(
            columns={name: column.take(index) for name, column in self.columns.items()},
            tensors={name: value[index.tensor] for name, value in self.tensors.items()},
            misfits=frozenset(place for place, row in enumerate(index.rows) if row in self.misfits),
        )


_NOTHING = Asked(columns={}, tensors={}, misfits=frozenset())


class Parameter:
    """A parameter that is a tensor."""

    def __init__(self, name: str, what: Tensorial, where: str) -> None:
        self.name = name
        self.what = what
        self.where = where
        """For people."""
        self.dims = torch.Size(what.dims) if isinstance(what, Shape) else None
        self.dtype = dtype_of(what) if isinstance(what, Shape) else None

    def takes(self, column: Column | None) -> TypeGuard[Tensors]:
        """Whether the column holds the tensor that it takes, as most do."""
        return (
            isinstance(column, Tensors)
            and column.present is None
            and column.value.dtype is self.dtype
            and column.value.shape[1:] == self.dims
        )


class Taking:
    """How the arguments of one step's module are made."""

    def __init__(self, component: TorchComponent, sources: Mapping[str, Source], place: str, *, checks: bool) -> None:
        """`checks` says whether values are held to the schemas of the component's card."""
        signature = component.signature
        self._tensors = [
            Parameter(each.name, each.what, f"'{each.name}' of component '{component.options.name}' at step '{place}'")
            for each in signature.tensors
        ]
        self._plain = signature.plain
        self.takes_reference = signature.takes_reference
        self._of_input = {
            name: source for name, source in sources.items() if isinstance(source, PathOf) and source.slot == INPUT
        }
        self.inner = [each for each in self._tensors if each.name in sources and each.name not in self._of_input]
        """Those that are read of steps."""
        schemas: Any = component.card.input["properties"] if checks else {}
        self._checks = {name: Check(schema) for name, schema in schemas.items() if name in sources}

    def asked(self, batch: Underway, cohort: Cohort) -> Asked:
        """What the step reads of the requests, where its rows are those."""
        return self.asked_of(batch.data) if cohort.is_whole else _NOTHING

    def asked_of(self, data: Batch) -> Asked:
        """What the step reads of requests, a row each."""
        found: Asked = data.once(self, self._read, Asked.of)
        return found

    def given(self, batch: Underway, cohort: Cohort, inputs: Mapping[str, Column]) -> Given:
        """What the module is called with, and the rows that break its schema."""
        asked = self.asked(batch, cohort)
        fields: dict[str, Any] = {**asked.tensors}
        misfits: Set[int] = asked.misfits
        for parameter in self.inner if cohort.is_whole else self._tensors:
            column = inputs.get(parameter.name)
            if parameter.takes(column):
                fields[parameter.name] = column.value
            else:
                fields[parameter.name], wrong = self._checked(column or nulls(cohort.size), parameter)
                misfits = misfits | {*wrong}
        if self._plain:
            misfits = self._add_plain(fields, inputs, misfits)
        if self.takes_reference:
            fields[REFERENCE] = batch.references_of(cohort)
        return Given(fields=fields, misfits=misfits)

    def _read(self, data: Batch) -> Asked:
        frame = ColumnFrame(len(data))
        frame.put(INPUT, data.input)
        columns = {name: column_at(source, frame) for name, source in self._of_input.items()}
        with torch.inference_mode(mode=False):  # the batch keeps them, also for passes that learn
            return self._made(data, columns)

    def _made(self, data: Batch, columns: Mapping[str, Column]) -> Asked:
        own = [each for each in self._tensors if each not in self.inner]
        made = {each.name: self._checked(columns.get(each.name) or nulls(len(data)), each) for each in own}
        return Asked(
            columns=columns,
            tensors={name: value for name, (value, _) in made.items()},
            misfits=frozenset(row for _, wrong in made.values() for row in wrong),
        )

    def _checked(self, column: Column, parameter: Parameter) -> tuple[Tensor, list[int]]:
        value, wrong = fitted(column, parameter.what, parameter.where)
        check = self._checks.get(parameter.name)
        if check is not None and isinstance(column, Rows):
            wrong = [row for row, each in enumerate(column.values) if not check.is_valid(each)]
        return value, wrong

    def _add_plain(self, fields: dict[str, Any], inputs: Mapping[str, Column], misfits: Set[int]) -> Set[int]:
        """Add what the module takes as JSON, in lists of its own; returns the misfits, these too."""
        for plain in self._plain:
            values = [*inputs[plain.name].json]
            check = self._checks.get(plain.name)
            if check is not None:
                misfits = misfits | {row for row, value in enumerate(values) if not check.is_valid(value)}
            if plain.convert is not None:
                values = [None if row in misfits else plain.convert(value) for row, value in enumerate(values)]
            fields[plain.name] = values
        return misfits
