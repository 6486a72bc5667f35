"""What a batch's runs are rewarded with, as a tensor that keeps the graph of what modules computed.

Shape letters: B runs, L lives (the runs, then shadows of enumerated choices).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from stretto.learn.differentiable.cohort import Cohort
from stretto.learn.differentiable.index import Index
from stretto.learn.differentiable.underway import Computed, Underway


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One term of the reward, of every life."""

    value_L: Tensor
    """float64; 0 where it is not known."""
    known_L: Tensor
    weight: float


def terms_of(batch: Underway, cohort: Cohort, weights: Mapping[str, float]) -> dict[str, Term]:
    """Every term that counts, by name: those that the contract weighs, or else all that were given."""
    lives = len(batch.states.runs)
    values = _given_outside(batch, lives)
    for event in batch.events:
        if isinstance(event, Computed):
            for name, (value, known) in event.rewards.items():
                _put(values, name, event.cohort.lives, value.double().cpu(), known, lives, adds=not weights)
    failed = [cohort.lives[row] for row in cohort.failed]
    names = weights or dict.fromkeys(values, 1.0)
    return {name: _term(values.get(name), weight, lives, failed) for name, weight in names.items() if weight != 0.0}


def total(terms: Mapping[str, Term], lives: int) -> tuple[Tensor, Tensor]:
    """The weighted sum [L], and where it is known [L]: where every term is, and there is one."""
    value_L = torch.zeros(lives, dtype=torch.float64)
    known_L = torch.full((lives,), bool(terms))
    for term in terms.values():
        value_L = value_L + term.weight * term.value_L
        known_L = known_L & term.known_L
    return value_L, known_L


_Values = dict[str, tuple[Tensor, Tensor]]


def _given_outside(batch: Underway, lives: int) -> _Values:
    """What steps outside gave; of a name the last."""
    values: _Values = {}
    told = [(life, batch.states.of([life])[0].rewards) for life in range(lives) if batch.states.has(life)]
    for name in dict.fromkeys(reward.name for _, rewards in told for reward in rewards):
        latest = {life: reward.value for life, rewards in told for reward in rewards if reward.name == name}
        given = [torch.nan if value is None else value for value in latest.values()]
        value = torch.tensor(given, dtype=torch.float64)
        _put(values, name, [*latest], value, ~torch.isnan(value), lives, adds=False)
    return values


def _put(
    values: _Values, name: str, lives: Sequence[int], value: Tensor, known: Tensor | None, size: int, *, adds: bool
) -> None:
    """Put what a step gave beside what others did; the last of a life counts, or where nothing is weighed each does."""
    rows = torch.tensor([*lives], dtype=torch.int64)
    is_known = torch.ones(len(lives), dtype=torch.bool) if known is None else known
    value = value if known is None else torch.where(is_known, value, torch.zeros_like(value))
    if not adds:
        last = torch.tensor([*{life: row for row, life in enumerate(lives)}.values()], dtype=torch.int64)
        rows, value, is_known = rows[last], value[last], is_known[last]
    new = value.new_zeros(size).index_add(0, rows, value)
    mask = torch.zeros(size, dtype=torch.bool).index_fill(0, rows, value=True)
    lacking = torch.zeros(size, dtype=torch.bool).index_fill(0, rows[~is_known], value=True)
    if name not in values:
        values[name] = new, mask & ~lacking
        return
    before, was_known = values[name]
    if adds:
        values[name] = before + new, (was_known | mask) & ~lacking
    else:
        values[name] = torch.where(mask, new, before), torch.where(mask, ~lacking, was_known)


def _term(found: tuple[Tensor, Tensor] | None, weight: float, lives: int, failed: list[int]) -> Term:
    if found is None:
        nothing = torch.zeros(lives, dtype=torch.float64)
        return Term(value_L=nothing, known_L=torch.zeros(lives, dtype=torch.bool), weight=weight)
    value_L, known_L = found
    if failed:
        known_L = known_L & ~Index(failed).mask(lives)
        value_L = torch.where(known_L, value_L, torch.zeros_like(value_L))
    return Term(value_L=value_L, known_L=known_L, weight=weight)
