"""The loss whose gradient is the estimators': of the mean reward of a batch, with its sign turned.

Schulman et al. 2015, "Gradient Estimation Using Stochastic Computation Graphs", theorem 1 and corollary 1: what modules
computed is differentiated as it is; each choice that is scored adds its log-probability times the costs downstream of
it. Where an alternative is a life of its own, its probability stands before what it came to. Shape letters: L lives, N
rows of one step, B runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import torch
from torch import Tensor

from stretto.learn.differentiable.downstream import Downstream
from stretto.learn.differentiable.foretelling import Foretelling, Told
from stretto.learn.differentiable.later import of_the_pass
from stretto.learn.differentiable.rewards import Gain
from stretto.learn.differentiable.underway import Computed, Underway
from stretto.learn.estimators import chosen_logprob, score
from stretto.types.enums import Estimator

SCORING: Final = frozenset({Estimator.SCORE, Estimator.RELAX})
"""By which a choice adds its log-probability to the loss."""


@dataclass(kw_only=True)
class Loss:
    """Taken apart: a gradient goes back from its parts, and not from their sum, which is made when it is read."""

    gain: Gain
    scores: Sequence[Tensor]
    """What each choice that is scored adds to the sum over runs, with its graph."""
    made: list[tuple[Tensor, Tensor]] | None = None
    """Its parts, where they are known already."""

    @cached_property
    def value(self) -> Tensor:
        """Minus the mean known reward; its gradient is estimated."""
        with of_the_pass():
            loss = self.gain.objective(-1.0 / self.gain.count)
            for term in self.scores:
                loss = loss - (term - term.detach()) / self.gain.runs
        return loss

    @property
    def parts(self) -> list[tuple[Tensor, Tensor]]:
        """What depends on a parameter, and the gradient of `value` by each; `value` itself once it was read, on which
        somebody may have hung a hook."""
        if "value" not in vars(self):
            return self._parts
        return [(self.value, torch.ones_like(self.value))] if self.value.requires_grad else []

    @cached_property
    def _parts(self) -> list[tuple[Tensor, Tensor]]:
        if self.made is not None:
            return self.made
        found = self.gain.parts(-1.0 / self.gain.count)
        found += [(term, term.new_full((), -1.0 / self.gain.runs)) for term in self.scores]
        return [part for part in found if part[0].requires_grad]


def loss_of(batch: Underway, gain: Gain, downstream: Downstream, foretelling: Foretelling) -> Loss:
    """Of what was chosen and rewarded in a batch."""
    scores: list[Tensor] = []
    for event in batch.events:
        if isinstance(event, Computed) and event.choices and event.estimator in SCORING:
            names = downstream.terms(event.place)
            found = [_score(batch, gain, event, name, names, foretelling) for name in event.choices]
            scores += [term for term in found if term is not None]
    return Loss(gain=gain, scores=scores)


def _score(
    batch: Underway, gain: Gain, event: Computed, name: str, names: frozenset[str], foretelling: Foretelling
) -> Tensor | None:
    """What one of a step's choices adds to the sum over runs; None where nothing is downstream."""
    choice = event.choices[name]
    terms = [term for each, term in gain.terms.items() if each in names]
    if not terms or not event.cohort.size:
        return None
    cost_L = torch.stack([term.weight * term.value_L.detach().double().cpu() for term in terms]).sum(0)
    lives = torch.tensor([*event.cohort.lives])
    runs = torch.tensor(gain.run_of)[lives]
    is_known_N = torch.ones(len(lives), dtype=torch.bool) if gain.known_B is None else gain.known_B[runs]
    weight_N = torch.ones(len(lives), dtype=torch.float64)
    if gain.weights_L is not None:
        cost_L, before_L = _expected(batch, gain.weights_L.detach(), cost_L, event)
        weight_N = before_L[lives]
    cost_N = cost_L[lives]
    logp_N = chosen_logprob(choice.log_p_BA, choice.chosen_B)
    baseline_N = _others(lives.tolist(), runs.tolist(), (weight_N * cost_N).tolist(), is_known_N.tolist())
    known_N = is_known_N.double() * (gain.runs / gain.count)
    objective_N = score(logp_N, cost_N, baseline_N) * known_N
    if event.estimator is Estimator.RELAX:
        told = Told(reward_N=cost_N, baseline_N=baseline_N, weight_N=weight_N, known_N=known_N)
        objective_N = objective_N - foretelling.control(batch, event, name, told)
    return (weight_N * objective_N).sum()


def _expected(batch: Underway, weights_L: Tensor, cost_L: Tensor, event: Computed) -> tuple[Tensor, Tensor]:
    """Of the lives of then, what they are expected to come to over those that parted from them, and their weights."""
    before = torch.ones(event.lives, dtype=torch.float64) if event.weights_L is None else event.weights_L.detach()
    roots = torch.tensor([_root(life, batch.states.parents, event.lives) for life in range(len(weights_L))])
    summed = torch.zeros(event.lives, dtype=torch.float64).index_add(0, roots, weights_L * cost_L)
    return summed / before.clamp_min(torch.finfo(torch.float64).tiny), before


def _root(life: int, parents: Sequence[int], lives: int) -> int:
    while life >= lives:
        life = parents[life]
    return life


def _others(lives: list[int], runs: list[int], costs: list[float], known: list[bool]) -> Tensor:
    """The baseline of each row: the mean cost of the other runs, which do not descend from its choice."""
    of_life = {
        life: (run, cost) for life, run, cost, is_known in zip(lives, runs, costs, known, strict=True) if is_known
    }
    sums: dict[int, float] = {}
    for run, cost in of_life.values():  # a life counts once, however many items of it chose
        sums[run] = sums.get(run, 0.0) + cost
    if len(sums) < 2:
        return torch.zeros(len(lives), dtype=torch.float64)
    everything = sum(sums.values())
    others = [(everything - sums.get(run, 0.0)) / (len(sums) - (run in sums)) for run in runs]
    return torch.tensor(others, dtype=torch.float64)
