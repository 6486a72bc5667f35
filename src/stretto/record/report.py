"""What a component reports beside its output is held to the record's rules: its types, finite numbers, JSON, and
choices that can have been made."""

from collections.abc import Mapping
from math import isfinite
from typing import Final

import msgspec
import orjson

from stretto.record.canonical import snapshot
from stretto.record.texts import MESSAGE_CHARS, recordable
from stretto.record.tokens import wrong_tokens
from stretto.types.errors import ContractError, NotJsonError
from stretto.types.json import JsonObject
from stretto.types.learning import ROUNDING, Action, ModelCall, Reward
from stretto.types.messages import Response, Usage

MOST_TOKENS: Final = 10**12
"""Of one call: far more than any, and a million such calls add up to less than 2^63."""


class _Report(msgspec.Struct):
    """Of a response all but its output and evidence, without arrays."""

    actions: tuple[Action, ...]
    model_calls: tuple[ModelCall, ...]
    rewards: tuple[Reward, ...]
    usage: Usage | None
    queue_ms: float


def is_bare(response: Response) -> bool:
    """Whether there is nothing beside the output, as with most responses."""
    try:
        return not (
            response.actions
            or response.model_calls
            or response.rewards
            or response.usage is not None
            or response.evidence
            or response.queue_ms
        )
    except ValueError:  # an array has no truth; `check_report` refuses it
        return False


def check_report(name: str, response: Response) -> None:
    """Raise ContractError for what no record can hold: sealing would lose the run over it."""
    try:
        _check_numbers(name, response)
        _check_calls(name, response.model_calls)
        _as_read_back(response)
        for action in response.actions:
            _check_choice(name, action)
        if response.usage is not None:
            _check_usage(name, response.usage)
    except (AttributeError, TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        raise ContractError(
            f"component '{name}' reported beside its output what no record can hold: {error}"
        ) from error
    if response.evidence:
        _check_evidence(name, response.evidence)


def written_tokens(response: object) -> int:
    """Output tokens that a component reported, in [0, `MOST_TOKENS`]; 0 where it says nothing that makes sense.

    Asked before the response is held to anything, so it may be whatever a component returns.
    """
    usage = response.usage if isinstance(response, Response) else None
    tokens = usage.output_tokens if isinstance(usage, Usage) else 0
    return tokens if type(tokens) is int and 0 < tokens <= MOST_TOKENS else 0


def kept_rewards(response: Response) -> tuple[Reward, ...]:
    """The rewards as they are recorded: a long reason is cut."""
    return tuple(
        msgspec.structs.replace(reward, reason=recordable(reward.reason))
        if len(reward.reason) > MESSAGE_CHARS
        else reward
        for reward in response.rewards
    )


def kept_evidence(response: Response) -> JsonObject:
    """The evidence as it is recorded: plain JSON, which the component cannot change any more."""
    kept: JsonObject = orjson.loads(snapshot(dict(response.evidence)))
    return kept


def kept_model_calls(response: Response) -> tuple[ModelCall, ...]:
    """The model calls as they are recorded: messages are plain JSON, which the component cannot change any more."""
    return tuple(
        call if call.messages is None else msgspec.structs.replace(call, messages=orjson.loads(snapshot(call.messages)))
        for call in response.model_calls
    )


def _check_numbers(name: str, response: Response) -> None:
    """NaN and infinities, of which JSON would make null."""
    for action in response.actions:
        if not (isfinite(action.logprob) and isfinite(action.propensity)):
            raise ContractError(
                f"component '{name}' reported the action '{action.name}' with log-probability {action.logprob} and "
                f"propensity {action.propensity}; expected finite numbers"
            )
    for reward in response.rewards:
        if not isfinite(reward.weight) or not (reward.value is None or isfinite(reward.value)):
            raise ContractError(
                f"component '{name}' reported the reward '{reward.name}' as {reward.value} with weight "
                f"{reward.weight}; expected finite numbers, or None for what could not be computed"
            )
    if response.usage is not None and not isfinite(response.usage.cost):
        raise ContractError(f"component '{name}' reported a cost of {response.usage.cost}; expected a finite number")


def _check_calls(name: str, calls: object) -> None:
    """Model calls that can be kept and learnt from: arrays that fit each other, and messages that are JSON."""
    if not isinstance(calls, tuple | list):  # a generator would be spent by the time that it is recorded
        raise ContractError(f"the model calls of component '{name}' are {type(calls).__name__}; expected a tuple")
    for call in calls:
        wrong = wrong_tokens(call)
        if wrong:
            raise ContractError(f"component '{name}' reported a model call {wrong}")
        try:
            snapshot(call.messages)
        except NotJsonError as error:
            raise ContractError(
                f"component '{name}' reported a model call whose messages are not JSON: {error}"
            ) from error


def _check_choice(name: str, action: Action) -> None:
    """A choice that can have been made: learning divides by its probability and looks it up in its support."""
    wrong = _impossible(action)
    if wrong:
        raise ContractError(f"component '{name}' reported the action '{action.name}' with {wrong}")


def _impossible(action: Action) -> str:
    """What no choice can have been, and what was expected; empty for a choice that can have been made."""
    support, available = action.support, action.available
    if not 0.0 < action.propensity <= 1.0:
        return f"propensity {action.propensity}; expected a probability: above 0, at most 1"
    if not support:
        return f"available {list(available)} and no support; expected the alternatives in support" if available else ""
    if len(set(support)) < len(support):
        return f"an alternative twice in its support {list(support)}; expected each once"
    if action.chosen not in support:
        return f"'{action.chosen}' chosen; expected one of its support {list(support)}"
    if available and len(available) != len(support):
        return f"{len(available)} values in available for {len(support)} alternatives; expected one for each, or none"
    if available and not action.forced and not available[support.index(action.chosen)]:
        return f"'{action.chosen}' chosen, which was not available; expected an alternative that was, or forced=True"
    if action.logprob > ROUNDING:
        return f"log-probability {action.logprob}; expected the logarithm of a probability: 0 or less"
    return ""


def _check_usage(name: str, usage: Usage) -> None:
    """Amounts that a budget can be charged with, and that add up in 64 bits."""
    if usage.cost < 0:
        raise ContractError(f"component '{name}' reported a cost of {usage.cost}; expected 0 or more")
    for tokens in (usage.input_tokens, usage.output_tokens):
        if not 0 <= tokens <= MOST_TOKENS:
            raise ContractError(f"component '{name}' reported {tokens} tokens; expected 0 to {MOST_TOKENS:,}")


def _as_read_back(response: Response) -> None:
    """Raise for whatever would not read back: a struct holds any type that it is given."""
    report = _Report(
        response.actions,
        tuple(
            msgspec.structs.replace(call, prompt_ids=None, completion_ids=None, logprobs=None, mask=None)
            for call in response.model_calls
        ),
        response.rewards,
        response.usage,
        response.queue_ms,
    )
    _decode(_encode(report))


def _check_evidence(name: str, evidence: object) -> None:
    if not isinstance(evidence, Mapping):
        raise ContractError(f"the evidence of component '{name}' is {type(evidence).__name__}; expected a mapping")
    try:
        snapshot(dict(evidence))
    except NotJsonError as error:
        raise ContractError(f"the evidence of component '{name}' is not JSON: {error}") from error


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Report).decode
