"""Answers that stand in a component's place, from a person or for a replay: held to what it could have answered."""

from collections.abc import Mapping

import orjson

from stretto.plan.check import Check
from stretto.plan.model import Plan
from stretto.record.canonical import snapshot
from stretto.record.model import EffectRecord, Run
from stretto.types.errors import InputError, NotJsonError, ReplayError, Violation
from stretto.types.json import Json
from stretto.types.protocols import Component


def check_response(plan: Plan, effect: EffectRecord, response: Json) -> None:
    """Raise InputError when a write's component could not have answered so."""
    component = plan.components.get(effect.component)
    if component is not None:
        _hold_to_card(component, f"the answer given for '{effect.path}', a write of '{effect.component}',", response)


def check_outputs(plan: Plan, run: Run, outputs: Mapping[str, Json]) -> None:
    """Refuse outputs that the steps of a recorded run could not have had.

    Raises ReplayError for a step that the run does not have, InputError for an output that its component could not
    have given. Whether a step will be called at all, the replay finds out.
    """
    called = {step.path: step.component for step in run.steps}
    unknown = sorted(outputs.keys() - called.keys())
    if unknown:
        raise ReplayError(f"run {run.id} has no step {unknown[0]!r}; it has: {', '.join(sorted(called))}")
    for path, component in called.items():
        if path in outputs and component in plan.components:
            whose = f"the output given for '{path}', a call of '{component}',"
            _hold_to_card(plan.components[component], whose, outputs[path])


def _hold_to_card(component: Component, what: str, value: Json) -> None:
    try:
        answer: Json = orjson.loads(snapshot(value))
    except NotJsonError as error:
        raise InputError(what, [Violation(pointer=error.pointer, message=error.reason)]) from error
    violations = Check(component.card.output).violations(answer)
    if violations:
        raise InputError(what, violations)
