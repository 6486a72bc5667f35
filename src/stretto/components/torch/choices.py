"""Discrete choices from logits: their probabilities, the draw, and what is recorded of it.

The same for one row in the engine and for a batch, in float64, so that both record the same numbers. Shape letters:
B rows, A alternatives.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import repeat

import torch
from torch import Tensor

from stretto.components.policy import draws
from stretto.types.errors import Code, ComponentError
from stretto.types.learning import Action


def log_probabilities(logits_BA: Tensor) -> Tensor:
    """[B, A], float64. A logit of -inf is an alternative that is not available."""
    return logits_BA.log_softmax(-1, torch.float64)


def probabilities(logits_BA: Tensor) -> Tensor:
    """[B, A], float64, detached, on the CPU: what is drawn from."""
    return logits_BA.detach().softmax(-1, torch.float64).cpu()


def draws_of(seeds: Sequence[int], paths: Sequence[str] | str, choice: str, choices: int) -> list[float]:
    """One number from U[0, 1) a row: the draw that kind ``policy`` makes at the same seed and path.

    A module with several choices draws for each under its name. One path may stand for all rows.
    """
    ends = f"#{choice}" if choices > 1 else ""
    return draws(seeds, repeat(paths + ends) if isinstance(paths, str) else [path + ends for path in paths])


def chosen_of(component: str, choice: str, p_BA: Tensor, draws_B: Sequence[float] | None) -> list[int]:
    """The alternative of each row: by inversion of the draw, or the likeliest where there is none.

    Raises ComponentError for rows without probabilities.
    """
    if draws_B is None:
        _hold_numbers(component, choice, p_BA)
        likeliest: list[int] = p_BA.argmax(1).tolist()
        return likeliest
    rising: list[list[float]] = p_BA.cumsum(1).tolist()
    chosen = [*map(bisect_right, rising, draws_B)]
    if p_BA.shape[1] in chosen:
        _hold_numbers(component, choice, p_BA)
        chosen = [min(each, _last_possible(p_A)) for each, p_A in zip(chosen, p_BA.tolist(), strict=True)]
    return chosen


def _last_possible(p_A: Sequence[float]) -> int:
    """Which takes what rounding left of the draw."""
    return max(place for place, p in enumerate(p_A) if p > 0)


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
