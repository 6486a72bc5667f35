"""A model call's arrays, held against each other: one entry for each token, or learning would move the wrong ones.

Shape letters: T tokens of the completion, P of its prompt.
"""

from typing import Any, Final

from stretto.record.arrays import misfit
from stretto.types.learning import ROUNDING, ModelCall

_KINDS: Final = {"prompt_ids": "iu", "completion_ids": "iu", "logprobs": "f", "mask": "b"}
"""Field to the kinds of numpy's types that it may have."""

_WORDS: Final = {"iu": "integers", "f": "floats", "b": "booleans"}

_OF_T: Final = ("completion_ids", "logprobs", "mask")
"""Fields with one entry for each token of the completion."""

_REMEDY: Final = "Give np.array(...) of one number per token, or None when they are unknown"


def wrong_tokens(call: ModelCall) -> str:
    """What no completion can have been, and what was expected; empty for one that can. Imports no numpy."""
    for field, kinds in _KINDS.items():
        value = getattr(call, field)
        if value is not None:
            wrong = misfit(value)
            if wrong:
                return f"whose '{field}' is {wrong}; expected a numpy array of numbers or booleans. {_REMEDY}"
            if value.ndim != 1 or value.dtype.kind not in kinds:
                shape = list(value.shape)
                return f"whose '{field}' is {value.dtype}{shape}; expected {_WORDS[kinds]}, one for each token"
    return _apart(call) or _impossible(call.logprobs)


def _apart(call: ModelCall) -> str:
    """Which two fields do not speak of the same tokens."""
    lengths = {field: len(value) for field in _OF_T if (value := getattr(call, field)) is not None}
    if call.policy_versions and lengths:
        lengths["policy_versions"] = sum(tokens for _, tokens in call.policy_versions)
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{length} in {field}" for field, length in lengths.items())
        return f"with {told}; expected as many in each: one for each token of the completion"
    if any(tokens < 1 for _, tokens in call.policy_versions):
        return f"whose policy_versions are {call.policy_versions!r:.200}; expected runs of 1 token or more"
    if min(call.prompt_tokens, call.completion_tokens) < 0:
        return f"of {call.prompt_tokens} and {call.completion_tokens} tokens; expected 0 or more"
    return ""


def _impossible(logprobs: Any) -> str:  # an array of floats, or None
    """A log-probability of minus infinity is that of a token which the server gave the probability 0."""
    if logprobs is None or bool((logprobs <= ROUNDING).all()):  # which NaN is not
        return ""
    worst = next(each for each in logprobs.tolist() if not each <= ROUNDING)
    return f"with the log-probability {worst}; expected logarithms of probabilities: 0 or less"
