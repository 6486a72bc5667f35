"""Whether a record is whole. Training refuses runs from which a field was dropped (REQUIREMENTS C2)."""

import math
from collections.abc import Iterator
from enum import StrEnum

from stretto.record.model import NULL, Run, StepRecord
from stretto.types.enums import StepStatus
from stretto.types.learning import Action


class Made(StrEnum):
    """What every step of a component that learns has recorded, by the name of its field."""

    ACTIONS = "actions"
    """Its choice."""
    MODEL_CALLS = "model_calls"
    """Its completions."""


def dropped_fields(run: Run, policy: str, made: Made = Made.ACTIONS) -> list[str]:
    """What the engine records of every run and is not there, as paths into the record; empty for a whole run.

    `policy` is the component whose steps must have recorded what they `made`.
    """
    return [
        *_of_run(run),
        *(f"steps.{step.path}.{name}" for step in run.steps for name in _of_step(step, policy, made)),
    ]


def _of_run(run: Run) -> Iterator[str]:
    if run.input == NULL:
        yield "input"
    if not run.manifest.components:
        yield "manifest.components"


def _of_step(step: StepRecord, policy: str, made: Made) -> Iterator[str]:
    if not step.component or step.status is StepStatus.SKIPPED:
        return
    if step.input == NULL:
        yield "input"
    if step.status is StepStatus.FAILED:
        if step.error is None and step.reason is None:
            yield "error"
    elif step.output == NULL:
        yield "output"
    elif step.component == policy and step.status is StepStatus.OK and not getattr(step, made):
        yield made.value
    for i, action in enumerate(step.actions):
        yield from (f"actions[{i}].{name}" for name in _of_action(action))


def _of_action(action: Action) -> Iterator[str]:
    if action.chosen not in action.support:
        yield "support"
    if action.available and len(action.available) != len(action.support):
        yield "available"
    if not action.policy:
        yield "policy"
    if not math.isfinite(action.logprob):
        yield "logprob"
    if not 0.0 < action.propensity <= 1.0:
        yield "propensity"
