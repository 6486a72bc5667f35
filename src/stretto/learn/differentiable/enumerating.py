"""A choice that is enumerated: its rows part into one for each alternative, and all downstream is run for each.

What was drawn keeps the life of its run, and is what is recorded; every other alternative is a shadow of it. Shape
letters: L lives, N rows after.
"""

from collections.abc import Mapping

import torch

from stretto.learn.differentiable.chosen import Choices
from stretto.learn.differentiable.cohort import Cohort
from stretto.learn.differentiable.columns import Column, Fields
from stretto.learn.differentiable.frame import ColumnFrame
from stretto.learn.differentiable.index import Index
from stretto.learn.differentiable.inside import InsideNode
from stretto.learn.differentiable.merging import where
from stretto.learn.differentiable.underway import Underway


def parted(batch: Underway, cohort: Cohort, node: InsideNode) -> Cohort:
    """The cohort with a row for each alternative that a row may choose, weighted by its probability."""
    column = cohort.frame.get(node.op.slot)
    (name,) = node.component.signature.chooses
    choice = column.fields.get(name) if isinstance(column, Fields) else None
    if not isinstance(choice, Choices):
        return cohort
    rows, ways = _ways(cohort, choice)
    drawn = choice.chosen_B.tolist()
    lives = [
        cohort.lives[row] if way is None or way == drawn[row] else batch.states.shadow(cohort.lives[row])
        for row, way in zip(rows, ways, strict=True)
    ]
    index = Index(rows)
    frame = ColumnFrame(len(rows), parent=cohort.frame, index=index)
    frame.put(node.op.slot, _told(column, name, choice, index, ways))
    _weigh(batch, cohort, choice, rows, ways, lives)
    states = batch.states
    within = Cohort(frame, cohort.prefix, lives, lambda row: states.budget(lives[row]))
    within.failed = {row: cohort.failed[old] for row, old in enumerate(rows) if old in cohort.failed}
    return within


def _ways(cohort: Cohort, choice: Choices) -> tuple[list[int], list[int | None]]:
    """Of each row after, the row that it comes from and the alternative; None where nothing was chosen."""
    rows: list[int] = []
    ways: list[int | None] = []
    present = choice.present
    for row, log_p_A in enumerate(choice.log_p_BA.detach().tolist()):
        is_chosen = row not in cohort.failed and (present is None or bool(present[row]))
        found = [way for way, log_p in enumerate(log_p_A) if log_p != float("-inf")] if is_chosen else [None]
        rows += [row] * len(found)
        ways += found
    return rows, ways


def _told(column: Column | None, name: str, choice: Choices, index: Index, ways: list[int | None]) -> Column:
    """What the step answered, as if each alternative had been drawn."""
    assert isinstance(column, Fields)
    taken = column.take(index)
    each = choice.take(index)
    assert isinstance(taken, Fields)
    assert isinstance(each, Choices)
    way_N = torch.tensor([-1 if way is None else way for way in ways])
    chosen_N = torch.where(way_N >= 0, way_N, each.chosen_B)
    each = Choices(choice.names, chosen_N, each.log_p_BA, present=each.present)
    fields: Mapping[str, Column] = {**taken.fields, name: each}
    return Fields(fields, taken.size, taken.present)


def _weigh(
    batch: Underway, cohort: Cohort, choice: Choices, rows: list[int], ways: list[int | None], lives: list[int]
) -> None:
    """Weight each life by the probability of its alternative, times that of the life that it parted from."""
    before_L = torch.ones(len(batch.data), dtype=torch.float64) if batch.weights_L is None else batch.weights_L
    is_parted_N = torch.tensor([way is not None for way in ways])
    way_N = torch.tensor([way or 0 for way in ways])
    p_N = choice.log_p_BA[torch.tensor(rows), way_N].exp()
    p_N = where(is_parted_N, p_N, torch.ones_like(p_N))
    own_N = before_L[torch.tensor([cohort.lives[row] for row in rows])] * p_N
    after_L = torch.cat([before_L, before_L.new_zeros(len(batch.states.runs) - len(before_L))])
    batch.weights_L = after_L.index_copy(0, torch.tensor(lives), own_N)
