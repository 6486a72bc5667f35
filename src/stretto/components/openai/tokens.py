"""The tokens of a completion as arrays, exactly as the server gave them. What it did not give is None.

Shape letters: T tokens of the completion, P of its prompt.
"""

import math
from collections.abc import Sequence
from typing import Final, cast

import msgspec
import numpy as np

from stretto.components.openai.wire import Choice, Completion, TokenLogprob
from stretto.types.learning import ROUNDING, Array

_ID_PREFIX: Final = "token_id:"
"""vLLM writes a token so when ``return_tokens_as_token_ids`` is sent."""


class Tokens(msgspec.Struct, frozen=True, kw_only=True):
    """One completion, token by token."""

    prompt_ids: Array | None = None
    completion_ids: Array | None = None
    logprobs: Array | None = None
    mask: Array | None = None
    doubt: str = ""
    """Why something that the server gave is left out; empty when nothing is."""

    @property
    def length(self) -> int:
        """T; 0 when the server told no tokens."""
        return 0 if self.mask is None else len(self.mask)


def tokens_of(completion: Completion, choice: Choice) -> Tokens:
    """Read ids and log-probabilities, wherever this server puts them.

    Both have one entry for each token or are not kept together: when their lengths differ, the log-probabilities go.
    """
    prompt = completion.prompt_token_ids or choice.prompt_token_ids
    ids, logprobs = _ids(choice), _logprobs(choice)
    doubt = ""
    if ids is not None and logprobs is not None and len(ids) != len(logprobs):
        doubt = f"the server gave {len(ids)} token ids and {len(logprobs)} log-probabilities; the latter are left out"
        logprobs = None
    if logprobs is not None and not all(each <= ROUNDING for each in logprobs):  # which NaN is not
        worst = next(each for each in logprobs if not each <= ROUNDING)
        doubt = f"the server gave the log-probability {worst}, which is that of no token; they are left out"
        logprobs = None
    told = ids if ids is not None else logprobs
    return Tokens(
        prompt_ids=None if not prompt else np.array(prompt, np.int32),
        completion_ids=None if ids is None else np.array(ids, np.int32),
        logprobs=None if logprobs is None else _float32(logprobs),
        mask=None if told is None else np.ones(len(told), np.bool_),
        doubt=doubt,
    )


def _float32(values: Sequence[float]) -> Array:
    """What is beyond the range of a float32 is infinite there."""
    with np.errstate(over="ignore"):
        return np.array(values, np.float64).astype(np.float32)


def natural(token: TokenLogprob) -> float | None:
    """The token's log-probability, whichever way it is told."""
    if token.logprob is None and token.prob is not None:
        return math.log(token.prob) if token.prob > 0 else -math.inf
    return token.logprob


def entries(choice: Choice) -> list[TokenLogprob]:
    """The completion's tokens as listed with their log-probabilities; those of a refusal when it refused."""
    given = choice.logprobs
    return [] if given is None else given.content or given.refusal or []


def _ids(choice: Choice) -> list[int] | None:
    if choice.token_ids:
        return choice.token_ids
    meta = choice.meta_info
    if meta is not None and meta.output_token_logprobs:
        found = [row[1] for row in meta.output_token_logprobs if len(row) > 1]
        return _whole(found, len(meta.output_token_logprobs))
    listed = entries(choice)
    return _whole([_id(token) for token in listed], len(listed)) if listed else None


def _id(token: TokenLogprob) -> int | None:
    if token.id is None and token.token.startswith(_ID_PREFIX):
        digits = token.token.removeprefix(_ID_PREFIX)
        return int(digits) if digits.isdecimal() else None
    return token.id


def _whole(found: Sequence[object], length: int) -> list[int] | None:
    """The ids when there is one for each token."""
    ids = [each for each in found if isinstance(each, int)]
    return ids if len(ids) == length else None


def _logprobs(choice: Choice) -> list[float] | None:
    given = choice.logprobs
    listed = entries(choice)
    found = [natural(token) for token in listed]
    if not listed and given is not None and given.token_logprobs:
        found = given.token_logprobs
    if not found or None in found:
        return None
    return cast("list[float]", found)
