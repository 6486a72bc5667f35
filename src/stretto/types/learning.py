"""What a component reports for learning: choices with their probabilities, model calls token by token, rewards.

Shape letters: A alternatives of one choice, T tokens of one completion, P tokens of its prompt.
"""

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from stretto.types.json import Json

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
else:  # the engine records arrays without importing numpy
    Array: TypeAlias = Any


ROUNDING: Final = 1e-6
"""Nats by which the log-probability of a sure choice may lie above 0: what float32 makes of a softmax."""


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """One discrete choice, recorded so that it can be learnt from and evaluated off-policy."""

    name: str
    """What was being chosen: ``tool``."""
    chosen: str
    support: tuple[str, ...]
    """The A alternatives, in the order of the policy's outputs."""
    available: tuple[bool, ...] = ()
    """Which alternatives were allowed, length A; empty when all were."""
    logprob: float
    """Natural logarithm of the probability with which `chosen` was sampled, temperature and mask included."""
    propensity: float
    """Probability with which the *behaviour* chose it, exploration included; what IPS divides by."""
    policy: str
    """Digest of the weights that chose."""
    forced: bool = False
    """True when only one alternative was available, or a rule overrode the policy: nothing to learn here."""


class ModelCall(msgspec.Struct, frozen=True, kw_only=True):
    """One completion of a language model, token-faithful: ids as sampled, never re-tokenised."""

    model: str
    prompt_ids: Array | None = None
    """int32, shape P; None when the server does not tell."""
    completion_ids: Array | None = None
    """int32, shape T."""
    logprobs: Array | None = None
    """float32, shape T, natural logarithms."""
    mask: Array | None = None
    """bool, shape T: True where the token was sampled by the policy and may be trained on."""
    policy_versions: tuple[tuple[str, int], ...] = ()
    """Run lengths of the weights' digests over the T tokens."""
    finish_reason: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    messages: Json = None
    """The request's messages, as sent; None where the step's input holds them."""
    text: str = ""


class Reward(msgspec.Struct, frozen=True, kw_only=True):
    """One term of a run's reward."""

    name: str
    value: float | None
    """None is *unknown*: it could not be computed. It is never 0."""
    weight: float = 1.0
    reason: str = ""
    """In words: why this value."""


def total_reward(rewards: tuple[Reward, ...]) -> float | None:
    """Weighted sum of the terms; None when there are none or a weighted term is unknown."""
    total = 0.0
    weighed = False
    for reward in rewards:
        if reward.weight == 0.0:
            continue
        if reward.value is None:
            return None
        total += reward.weight * reward.value
        weighed = True
    return total if weighed else None
