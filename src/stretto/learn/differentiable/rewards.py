"""What a batch's runs are rewarded with, as a tensor that keeps the graph of what modules computed.

Shape letters: B runs, L lives (the runs, then shadows of enumerated choices).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from stretto.learn.differentiable.cohort import Cohort
from stretto.learn.differentiable.index import Index
from stretto.learn.differentiable.later import of_the_pass, own
from stretto.learn.differentiable.underway import Computed, Underway


@dataclass(slots=True)
class Term:
    """One term of the reward, of every life."""

    value_L: Tensor
    """0 where it is not known."""
    known_L: Tensor | None
    """None where all are."""
    weight: float


def terms_of(batch: Underway, cohort: Cohort, weights: Mapping[str, float]) -> dict[str, Term]:
    """Every term that counts, by name: those that the contract weighs, or else all that were given."""
    lives = len(batch.states.runs)
    gathered = _Gathered(lives, adds=not weights)
    _gather_outside(batch, gathered)
    for event in batch.events:
        if isinstance(event, Computed):
            for name, (value, known) in event.rewards.items():
                gathered.put(name, event.cohort.lives, value.cpu(), known)
    failed = [cohort.lives[row] for row in cohort.failed]
    names = weights or dict.fromkeys(gathered.terms, 1.0)
    return {name: gathered.term(name, weight, failed) for name, weight in names.items() if weight != 0.0}


@dataclass(slots=True, kw_only=True)
class Gain:
    """What all lives of a batch are rewarded with."""

    terms: Mapping[str, Term]
    runs: int
    """B."""
    run_of: Sequence[int]
    """Of each life, its run."""
    weights_L: Tensor | None
    """Of each life, how likely it is in its run; None where each run has one life."""
    known_B: Tensor | None
    """Runs of which every life has a reward that is known; None for all."""

    @property
    def count(self) -> int:
        """Runs whose reward is known, at least 1."""
        return self.runs if self.known_B is None else max(1, int(self.known_B.sum()))

    def objective(self, scale: float) -> Tensor:
        """The sum of the known rewards, each expected over the lives of its run, times `scale`."""
        parts = [self._counted(term.value_L).sum() * (term.weight * scale) for term in self.terms.values()]
        return sum(parts[1:], start=parts[0]) if parts else torch.zeros(())

    def parts(self, scale: float) -> list[tuple[Tensor, Tensor]]:
        """Tensors that `objective` is made of, and its gradient by each."""
        if self.weights_L is None and self.known_B is None:  # as most: a weighted sum
            size = len(self.run_of)
            return [
                (term.value_L, every(place, size, term.value_L.dtype, term.weight * scale))
                for place, term in enumerate(self.terms.values())
            ]
        with of_the_pass():
            whole = self.objective(scale)
        return [(whole, torch.ones_like(whole))]

    def of_runs(self) -> tuple[Tensor, Tensor | None]:
        """The rewards [B], float64, expected over the lives of each run, and which are known."""
        value_L = torch.zeros(len(self.run_of), dtype=torch.float64)
        for term in self.terms.values():
            value_L = value_L + term.value_L.double().cpu() * term.weight
        if self.weights_L is None:
            return value_L, self.known_B
        runs = torch.tensor(self.run_of)
        return torch.zeros(self.runs, dtype=torch.float64).index_add(0, runs, value_L * self.weights_L), self.known_B

    def _counted(self, value_L: Tensor) -> Tensor:
        """Values of the lives of known runs, weighted."""
        if self.weights_L is not None:
            value_L = value_L * self.weights_L.to(value_L.dtype)
        return value_L if self.known_B is None else value_L[self.known_B[torch.tensor(self.run_of)]]


def every(place: int, count: int, dtype: torch.dtype, number: float) -> Tensor:
    """[count], the number everywhere; one for all passes over batches of a size, for the term of that place."""
    made = _kept(place, count, dtype, number)
    if made._version:  # noqa: SLF001  # a hook wrote to the gradient that it was shown
        _kept.cache_clear()
        made = _kept(place, count, dtype, number)
    return made


@lru_cache(maxsize=64)
def _kept(place: int, count: int, dtype: torch.dtype, number: float) -> Tensor:  # noqa: ARG001  # no two terms share one
    with torch.inference_mode(mode=False):
        return torch.full((count,), number, dtype=dtype)


def gain_of(batch: Underway, cohort: Cohort, weights: Mapping[str, float]) -> Gain:
    """What a batch is rewarded with, by the contract's weights, or without them each term as it is."""
    terms, runs = terms_of(batch, cohort, weights), len(batch.data)
    run_of = batch.states.runs
    return Gain(terms=terms, runs=runs, run_of=run_of, weights_L=batch.weights_L, known_B=_known(terms, run_of, runs))


def _known(terms: Mapping[str, Term], run_of: Sequence[int], runs: int) -> Tensor | None:
    """Runs of which each life knows every term, of which there must be one; None for all."""
    if not terms:
        return torch.zeros(runs, dtype=torch.bool)
    known = [term.known_L for term in terms.values() if term.known_L is not None]
    if not known:
        return None
    known_L = torch.stack(known).all(0)
    if len(run_of) == runs:
        return known_L
    lacking = torch.tensor(run_of)[~known_L]
    return torch.ones(runs, dtype=torch.bool).index_fill(0, lacking, value=False)


class _Gathered:
    """Values by term, put together step by step; None for what is known means everywhere."""

    def __init__(self, lives: int, *, adds: bool) -> None:
        """Of a life that is given a term twice the last counts, or with `adds` each."""
        self.lives = lives
        self.terms: dict[str, tuple[Tensor, Tensor | None]] = {}
        self._adds = adds

    def put(self, name: str, lives: Sequence[int], value: Tensor, known: Tensor | None) -> None:
        """Add what a step gave to some lives."""
        if name not in self.terms and known is None and lives == range(self.lives):
            self.terms[name] = own(value), None  # as most do
            return
        new, mask, is_known = self._spread(lives, value, known)
        if name not in self.terms:
            self.terms[name] = new, is_known
            return
        before, was_known = self.terms[name]
        was_known = torch.ones_like(mask) if was_known is None else was_known
        if self._adds:
            self.terms[name] = before + new, torch.where(mask, is_known, was_known)
        else:
            self.terms[name] = torch.where(mask, new, before), torch.where(mask, is_known, was_known)

    def _spread(self, lives: Sequence[int], value: Tensor, known: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """What is given to all lives: values, to whom, and to whom a known one."""
        rows = torch.tensor([*lives], dtype=torch.int64)
        is_known = torch.ones(len(lives), dtype=torch.bool) if known is None else known
        value = torch.where(is_known, value, torch.zeros_like(value))
        if not self._adds:
            last = torch.tensor([*{life: row for row, life in enumerate(lives)}.values()], dtype=torch.int64)
            rows, value, is_known = rows[last], value[last], is_known[last]
        mask = torch.zeros(self.lives, dtype=torch.bool)
        lacking = mask.index_fill(0, rows[~is_known], value=True)
        mask = mask.index_fill(0, rows, value=True)
        return value.new_zeros(self.lives).index_add(0, rows, value), mask, mask & ~lacking

    def term(self, name: str, weight: float, failed: Sequence[int]) -> Term:
        """A term, unknown in lives that failed, and everywhere when no step gave it."""
        if name not in self.terms:
            nothing = torch.zeros(self.lives, dtype=torch.float64)
            return Term(value_L=nothing, known_L=torch.zeros(self.lives, dtype=torch.bool), weight=weight)
        value_L, known_L = self.terms[name]
        if failed:
            alive = ~Index([*failed]).mask(self.lives)
            known_L = alive if known_L is None else known_L & alive
        if known_L is not None:
            value_L = torch.where(known_L, value_L, torch.zeros_like(value_L))
        return Term(value_L=value_L, known_L=known_L, weight=weight)


def _gather_outside(batch: Underway, gathered: _Gathered) -> None:
    """Add what steps outside gave; of a name the last."""
    told = batch.states.given()
    for name in dict.fromkeys(reward.name for _, rewards in told for reward in rewards):
        latest = {life: reward.value for life, rewards in told for reward in rewards if reward.name == name}
        given = [torch.nan if value is None else value for value in latest.values()]
        value = torch.tensor(given, dtype=torch.float64)
        gathered.put(name, [*latest], value, ~torch.isnan(value))
