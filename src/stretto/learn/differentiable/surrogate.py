"""The loss whose gradient is the estimators': of the mean reward of a batch, with its sign turned.

Schulman et al. 2015, "Gradient Estimation Using Stochastic Computation Graphs", theorem 1 and corollary 1: what modules
computed is differentiated as it is; each sampled choice adds its log-probability times the costs downstream of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from stretto.learn.differentiable.columns import Choices
from stretto.learn.differentiable.rewards import Term
from stretto.learn.differentiable.underway import Computed
from stretto.learn.estimators import chosen_logprob, score


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A step's choices that are learnt from by their score."""

    event: Computed
    choice: Choices
    terms: frozenset[str]
    """Of the reward: those that it may change."""


def score_term(scored: Scored, terms: Mapping[str, Term], known_L: Tensor | None) -> Tensor | None:
    """What a step's choices add to the objective's sum over runs; None where nothing is downstream."""
    downstream = [term for name, term in terms.items() if name in scored.terms]
    if not downstream or not scored.event.cohort.size:
        return None
    lives = torch.tensor([*scored.event.cohort.lives])
    cost_L = torch.stack([term.weight * term.value_L.detach().double().cpu() for term in downstream]).sum(0)
    cost_N = cost_L[lives]
    known_N = torch.ones(len(lives), dtype=torch.bool) if known_L is None else known_L[lives]
    logp_N = chosen_logprob(scored.choice.log_p_BA, scored.choice.chosen_B)
    return score(logp_N, cost_N, _others(lives, cost_N, known_N))[known_N].sum()


def _others(lives: Tensor, cost_N: Tensor, known_N: Tensor) -> Tensor:
    """The baseline of each row: the mean cost of the other runs, which do not descend from its choice."""
    told = zip(lives.tolist(), cost_N.tolist(), known_N.tolist(), strict=True)
    sums = {life: cost for life, cost, is_known in told if is_known}  # the same for every choice of a run
    if len(sums) < 2:
        return torch.zeros_like(cost_N)
    everything = sum(sums.values())
    others = [(everything - sums.get(life, 0.0)) / (len(sums) - 1) for life in lives.tolist()]
    return torch.tensor(others, dtype=cost_N.dtype)
