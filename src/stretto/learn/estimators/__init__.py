"""Gradients through a discrete choice: small pure functions, each with its paper and equation.

They take tensors and give an *objective* [B], to be ascended, or a choice [B, A] by which what follows can be
differentiated; the gradient that autograd finds by the log-probabilities is each item's estimate. Shape letters: B
items, A alternatives, K draws for one item, N items by P parameters.
"""

from stretto.learn.estimators.coefficient import best_coefficient
from stretto.learn.estimators.enumerate import expected
from stretto.learn.estimators.gumbel import gumbel_given, gumbel_noise, gumbel_softmax
from stretto.learn.estimators.rao_blackwell import rao_blackwell
from stretto.learn.estimators.relax import Relaxed, Surrogate, control_by_relaxing, control_by_trying, relaxed
from stretto.learn.estimators.score import chosen_logprob, leave_one_out, score
from stretto.learn.estimators.straight_through import straight_through

__all__ = [
    "Relaxed",
    "Surrogate",
    "best_coefficient",
    "chosen_logprob",
    "control_by_relaxing",
    "control_by_trying",
    "expected",
    "gumbel_given",
    "gumbel_noise",
    "gumbel_softmax",
    "leave_one_out",
    "rao_blackwell",
    "relaxed",
    "score",
    "straight_through",
]
