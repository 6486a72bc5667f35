"""Discrete choices from logits: their probabilities, the draw, and what is recorded of it.

The same for one row in the engine and for a batch, in float64, so that both record the same numbers. Shape letters:
B rows, A alternatives.
"""

from collections.abc import Sequence
from itertools import repeat

import numpy as np
import torch
from torch import Tensor

from stretto.components.policy import draw_bytes
from stretto.types.errors import Code, ComponentError
from stretto.types.learning import Action


def log_probabilities(logits_BA: Tensor) -> Tensor:
    """[B, A], float64. A logit of -inf is an alternative that is not available."""
    return logits_BA.log_softmax(-1, torch.float64)


def draws_of(seeds: Sequence[int], paths: Sequence[str] | str, choice: str, choices: int) -> Tensor:
    """One number from U[0, 1) a row, float64: the draw that kind ``policy`` makes at the same seed and path.

    A module with several choices draws for each under its name. One path may stand for all rows.
    """
    ends = f"#{choice}" if choices > 1 else ""
    each = repeat(paths) if isinstance(paths, str) else paths
    drawn = b"".join([draw_bytes(seed, path + ends) for seed, path in zip(seeds, each, strict=False)])
    return torch.from_numpy((np.frombuffer(drawn, "<u8") >> 11) * 2.0**-53)


def chosen_of(component: str, choice: str, log_p_BA: Tensor, draws_B: Tensor | None) -> Tensor:
    """The alternative of each row, [B]: by inversion of the draw, or the likeliest where there is none.

    Raises ComponentError for rows without probabilities.
    """
    p_BA = log_p_BA.detach().cpu().exp()
    if draws_B is None:
        _hold_numbers(component, choice, p_BA)
        return p_BA.argmax(1)
    drawn_B = torch.searchsorted(p_BA.cumsum(1), draws_B[:, None], right=True)[:, 0]
    alternatives = p_BA.shape[1]
    if alternatives not in drawn_B.tolist():
        return drawn_B
    _hold_numbers(component, choice, p_BA)
    last_possible_B = alternatives - 1 - (p_BA.flip(1) > 0).int().argmax(1)
    return torch.minimum(drawn_B, last_possible_B)  # rounding left some of the draw


def _hold_numbers(component: str, choice: str, p_BA: Tensor) -> None:
    if p_BA.isnan().any():
        raise ComponentError(
            f"component '{component}' gives no probabilities for {choice!r}: its logits are NaN, or none is available",
            Code.INTERNAL,
        )


def action_of(
    choice: str, support: tuple[str, ...], log_p_A: Sequence[float], chosen: int, *, policy: str, sample: bool
) -> Action:
    """What is recorded of one row's choice."""
    available = tuple(log_p != float("-inf") for log_p in log_p_A)
    logprob = log_p_A[chosen]
    return Action(
        name=choice,
        chosen=support[chosen],
        support=support,
        available=() if all(available) else available,
        logprob=logprob,
        propensity=float(torch.tensor(logprob, dtype=torch.float64).exp()) if sample else 1.0,
        policy=policy,
        forced=sum(available) == 1,
    )
