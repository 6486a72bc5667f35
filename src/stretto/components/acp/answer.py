"""What a component on another server answered, as a response of a step."""

import math
from collections.abc import Mapping
from typing import Final

import msgspec

from stretto.acp import messages as m
from stretto.acp.reported import actions_in, model_calls_in
from stretto.components.acp.blobs import filled
from stretto.types.enums import Outcome
from stretto.types.errors import Code, ComponentError
from stretto.types.json import JsonObject
from stretto.types.learning import ModelCall
from stretto.types.messages import Response, Usage

EXECUTE_ACTION: Final = "execute_action"
"""Field of the output in which a step finds what a plan wants done next."""

EVIDENCE: Final = "acp"
"""Key of the step's evidence under which the answer's own facts stand."""

_OUTCOMES: Final[Mapping[str, Outcome]] = {"": Outcome.OK, **{each.value: each for each in Outcome}}

_NOTHING: Final = m.Spent()


def response_of(answer: m.CallResponse, waited_ms: float, took_ms: float, who: str, by: JsonObject) -> Response:
    """The response that an answer stands for; `waited_ms` is what it waited on this side, `took_ms` what came after,
    `by` what is recorded of who gave it.

    Raises ComponentError for what cannot be read. Choices and model calls stand as they were told: whether they can
    have been made is for the step to say, as of any component.
    """
    result = answer.result
    return Response(
        output=_output(answer, who),
        outcome=_outcome(result.outcome),
        usage=_usage(result.usage, who),
        actions=actions_in(answer) if answer.actions else (),
        model_calls=_model_calls(answer, who) if answer.model_calls else (),
        evidence=_evidence(answer, by),
        queue_ms=waited_ms + min(_time(result.queue_ms), max(0.0, took_ms)),
    )


def _output(answer: m.CallResponse, who: str) -> JsonObject:
    output = answer.output
    if answer.output_json:
        try:
            output = msgspec.json.decode(answer.output_json)  # keeps the digits of a long integer
        except (msgspec.DecodeError, RecursionError) as error:
            raise ComponentError(f"{who} answered with an output that is no JSON: {error}", Code.INTERNAL) from error
        if not isinstance(output, dict):
            raise ComponentError(f"{who} answered with an output that is no object", Code.INTERNAL)
    if answer.blobs:
        output = filled(output, answer.blobs, who)
    wanted = answer.execute_action
    if wanted is not None and EXECUTE_ACTION not in output:
        output = {**output, EXECUTE_ACTION: {"action": wanted.action, "input": wanted.input}}
    return output


def _outcome(told: str) -> Outcome:
    """An outcome that a newer minor version added counts as none of ours: the answer is there."""
    return _OUTCOMES.get(told, Outcome.PARTIAL)


def _usage(spent: m.Spent, who: str) -> Usage | None:
    if spent == _NOTHING:
        return None
    tokens = (spent.input_tokens, spent.output_tokens)
    if not (math.isfinite(spent.cost) and spent.cost >= 0 and all(0 <= each <= m.MAX_UINT32 for each in tokens)):
        text = f"{who} says that it spent {spent!s:.200}; expected numbers of 0 or more, tokens below 2^32"
        raise ComponentError(text, Code.INTERNAL)
    return Usage(input_tokens=spent.input_tokens, output_tokens=spent.output_tokens, cost=spent.cost)


def _model_calls(answer: m.CallResponse, who: str) -> tuple[ModelCall, ...]:
    try:
        return model_calls_in(answer)
    except ValueError as error:
        raise ComponentError(f"{who} answered what cannot be read: {error}", Code.INTERNAL) from error


def _evidence(answer: m.CallResponse, by: JsonObject) -> JsonObject:
    result = answer.result
    told: JsonObject = {}
    if result.replayed:
        told["replayed"] = True
    if result.run_id:
        told["run_id"] = result.run_id
    if answer.gradient_handle:
        told["gradient_handle"] = answer.gradient_handle
    if service_ms := _time(result.service_ms):
        told["service_ms"] = service_ms
    told |= by
    return {**result.evidence, EVIDENCE: told} if told else dict(result.evidence)


def _time(told_ms: float) -> float:
    return told_ms if math.isfinite(told_ms) and told_ms >= 0 else 0.0
