"""Outputs that are given to a replay in place of calls: what may stand there, and whether it did."""

from collections.abc import Mapping
from typing import Final

from stretto.engine.history import History
from stretto.plan.check import Check
from stretto.plan.model import Plan
from stretto.record.canonical import snapshot
from stretto.record.model import Run, StepRecord, decoded
from stretto.types.enums import StepStatus
from stretto.types.errors import InputError, NotJsonError, ReplayError, Violation
from stretto.types.ids import MEMORY_PATH, StepPath
from stretto.types.json import Json
from stretto.types.protocols import Component

MOST_SHOWN_BYTES: Final = 2000
"""Of an output in a message; who changes a larger one has it in a file."""


def read_substitutes(plan: Plan, run: Run, outputs: Mapping[str, Json]) -> dict[StepPath, bytes]:
    """The outputs, encoded, by step.

    Raises ReplayError for a step that the recorded run does not have or that calls nothing itself, InputError for an
    output that its component could not have given.
    """
    recorded = {step.path: step for step in run.steps}
    unknown = sorted(set(outputs) - set(recorded))
    if unknown:
        raise ReplayError(f"run {run.id} has no step {unknown[0]!r}; it has: {', '.join(sorted(recorded))}")
    return {path: _encoded(plan, step, outputs[path]) for path, step in recorded.items() if path in outputs}


def _encoded(plan: Plan, step: StepRecord, output: Json) -> bytes:
    if not step.component and step.status is not StepStatus.SKIPPED:
        raise ReplayError(
            f"step '{step.path}' calls nothing itself, so no output can stand in place of a call; give those of the "
            "steps inside it"
        )
    whose = f"the output given for '{step.path}'"
    component = plan.components.get(step.component)
    what = whose if component is None else f"{whose}, a call of '{step.component}',"
    try:
        return encoded_answer(component, what, output)
    except InputError as error:
        raise InputError(error.what, error.violations, _completed(component, step, output)) from None


def _completed(component: Component | None, step: StepRecord, output: Json) -> str:
    """The recorded output with the fields that were given in it, as JSON; empty when that would not do either."""
    recorded = decoded(step.output)
    if component is None or not isinstance(output, dict) or not isinstance(recorded, dict):
        return ""
    merged = {**recorded, **output}
    try:
        encoded = encoded_answer(component, "", merged)
    except InputError:
        return ""
    return encoded.decode() if len(encoded) <= MOST_SHOWN_BYTES else ""


def encoded_answer(component: Component | None, what: str, value: Json) -> bytes:
    """What is said in a component's place, encoded; InputError when it could not have answered so."""
    try:
        encoded = snapshot(value)
    except NotJsonError as error:
        raise InputError(what, [Violation(pointer=error.pointer, message=error.reason)]) from error
    violations = () if component is None else Check(component.card.output).violations(value)
    if violations:
        raise InputError(what, violations)
    return encoded


def hold_to_use(again: Run, history: History) -> None:
    """Raise ReplayError for an output that stood nowhere though nothing in this replay took the step's place away.

    A step that was called and is now skipped, or whose round is not reached any more, is what the change came to.
    """
    made = {step.path: step for step in again.steps}
    for path in history.outputs:
        if path in made and made[path].component:
            continue
        why = _why_unused(path, history.steps[path], made)
        if why:
            raise ReplayError(f"the output given for '{path}' stands nowhere: {why}")


def _why_unused(path: StepPath, recorded: StepRecord, made: Mapping[StepPath, StepRecord]) -> str:
    """In words; empty when the change itself came to that."""
    if recorded.status is StepStatus.SKIPPED:
        return "the step was skipped, and is again; give another output or input to what its condition reads"
    if path == MEMORY_PATH:
        return "what the memory told is taken from the record"
    for outer in _around(path):
        if outer in made and made[outer].reused_from:
            return f"the answer of '{outer}', which made this call, was taken from the record; give that one's output"
    return ""


def _around(path: StepPath) -> list[StepPath]:
    """Paths of the steps that this one is inside of."""
    parts = path.split("/")
    return [StepPath("/".join(parts[:count])) for count in range(1, len(parts))]
