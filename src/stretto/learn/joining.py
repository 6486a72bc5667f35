"""Completions of one run put together to token sequences: a prompt once, and behind it all that was said in turn.

Shape letters: P tokens of a prompt, T tokens behind it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stretto.types.ids import StepPath
from stretto.types.learning import ModelCall

Ids = npt.NDArray[np.int32]
Logprobs = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """One completion whose server told its tokens."""

    path: StepPath
    model: str
    """As the server names it."""
    prompt_ids: Ids | None
    """Shape P; None when the server does not tell."""
    completion_ids: Ids
    """Shape T."""
    logprobs: Logprobs
    mask: Mask
    versions: tuple[tuple[str, int], ...]
    """Run lengths of the weights' versions over the T tokens; empty when the server does not tell."""
    finish_reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """Completions that go on with each other, as one sequence."""

    paths: tuple[StepPath, ...]
    """The steps that it was sampled in."""
    model: str
    prompt_ids: Ids | None
    """Of its first call, shape P."""
    completion_ids: Ids
    """Shape T: what was sampled, and between two answers what others said."""
    mask: Mask
    """Shape T: True where the model sampled the token, which is what may be learnt from."""
    logprobs: Logprobs
    """Shape T, natural logarithms under the weights that sampled, as the server told them; 0 where `mask` is False."""
    versions: tuple[tuple[str, int], ...]
    """Run lengths of the weights' versions over the sampled tokens; empty when the server did not tell all of them."""
    finish_reason: str
    """Of the last."""


def sampled_of(path: StepPath, call: ModelCall) -> Sampled | None:
    """A recorded call as a completion to learn from; None where an id or a finite log-probability is missing."""
    ids, logprobs = _vector(call.completion_ids), _vector(call.logprobs)
    if ids is None or logprobs is None or len(ids) != len(logprobs) or not np.isfinite(logprobs).all():
        return None
    given = _vector(call.mask)
    mask = np.ones(len(ids), np.bool_) if given is None or len(given) != len(ids) else given.astype(np.bool_)
    prompt = _vector(call.prompt_ids)
    return Sampled(
        path=path,
        model=call.model,
        prompt_ids=None if prompt is None else prompt.astype(np.int32),
        completion_ids=ids.astype(np.int32),
        logprobs=np.where(mask, logprobs, 0.0).astype(np.float32),
        mask=mask,
        versions=call.policy_versions,
        finish_reason=call.finish_reason,
    )


def joined(calls: Sequence[Sampled]) -> list[Joined]:
    """Put together the calls of one run, in the order in which they were made.

    A call goes on with the longest sequence that its prompt begins with. One with a prompt that is unknown, that was
    written anew (a template that drops reasoning, an edited history) or that another went on with already stands alone.
    """
    sequences: list[Joined] = []
    for call in calls:
        at = _continued(sequences, call)
        if at is None:
            sequences.append(_begun(call))
        else:
            sequences[at] = _gone_on(sequences[at], call)
    return sequences


def _vector(value: Any) -> npt.NDArray[Any] | None:  # Any: an array, of whatever a component gave
    """A recorded array that has one entry for each token, and any; None for another."""
    if value is None:
        return None
    array = np.asarray(value)
    return array if array.ndim == 1 and len(array) else None


def _continued(sequences: Sequence[Joined], call: Sampled) -> int | None:
    """Which sequence a call goes on with; None when it begins one."""
    fitting = [at for at, sequence in enumerate(sequences) if _begins_with(call, sequence)]
    return max(fitting, key=lambda at: _length(sequences[at]), default=None)


def _begins_with(call: Sampled, sequence: Joined) -> bool:
    before, prompt = sequence.prompt_ids, call.prompt_ids
    if before is None or prompt is None or call.model != sequence.model or len(prompt) < _length(sequence):
        return False
    behind = prompt[len(before) : _length(sequence)]
    return np.array_equal(prompt[: len(before)], before) and np.array_equal(behind, sequence.completion_ids)


def _length(sequence: Joined) -> int:
    return len(sequence.completion_ids) + (0 if sequence.prompt_ids is None else len(sequence.prompt_ids))


def _begun(call: Sampled) -> Joined:
    return Joined(
        paths=(call.path,),
        model=call.model,
        prompt_ids=call.prompt_ids,
        completion_ids=call.completion_ids,
        mask=call.mask,
        logprobs=call.logprobs,
        versions=call.versions,
        finish_reason=call.finish_reason,
    )


def _gone_on(sequence: Joined, call: Sampled) -> Joined:
    """The sequence with what was said in between, and the call's answer."""
    prompt: Ids = np.empty(0, np.int32) if call.prompt_ids is None else call.prompt_ids
    between = prompt[_length(sequence) :]
    told = (sequence.versions, call.versions)
    return replace(
        sequence,
        paths=(*sequence.paths, call.path),
        completion_ids=np.concatenate([sequence.completion_ids, between, call.completion_ids]),
        mask=np.concatenate([sequence.mask, np.zeros(len(between), np.bool_), call.mask]),
        logprobs=np.concatenate([sequence.logprobs, np.zeros(len(between), np.float32), call.logprobs]),
        versions=_one_after_another(*told) if all(told) else (),
        finish_reason=call.finish_reason,
    )


def _one_after_another(
    first: tuple[tuple[str, int], ...], second: tuple[tuple[str, int], ...]
) -> tuple[tuple[str, int], ...]:
    if first[-1][0] == second[0][0]:
        return (*first[:-1], (first[-1][0], first[-1][1] + second[0][1]), *second[1:])
    return first + second
