"""A request is held to what the plan can run and a record can hold. Nothing has been run or kept yet."""

from collections.abc import Iterable, Mapping

import msgspec
import orjson

from stretto.engine.meaning import crossed, evidence_of
from stretto.engine.request import RunRequest, check_request
from stretto.plan.model import Plan
from stretto.record.canonical import snapshot
from stretto.record.model import NULL
from stretto.spec.resources_model import ResourcesSpec
from stretto.spec.suggest import nearest
from stretto.types.arguments import wrong
from stretto.types.errors import InputError, NotJsonError, UsageError, Violation
from stretto.types.json import Json, JsonObject
from stretto.types.resources import measure_of


class Admitted(msgspec.Struct, gc=False, frozen=True, kw_only=True):  # nothing of a caller holds it
    """A request that may be run, once, with its values as the record holds them."""

    request: RunRequest
    encoded: bytes
    """The input."""
    value: JsonObject
    """The input, read back: what the steps see."""
    evidence: dict[str, Json]
    """What is told of the input on the run's record."""
    reference: msgspec.Raw
    memory: msgspec.Raw
    resources: msgspec.Raw


def admit(plan: Plan, request: RunRequest) -> Admitted:
    """Check a request in full.

    Raises UsageError for what no record could hold and for resources that nothing reads or that no probe could give,
    InputError for what is not JSON or breaks the contract. An input that means nothing is null from here on; it is
    refused too, where no fallback of the workflow answers it.
    """
    check_request(request)
    if request.resources and plan.resource_names is not None:
        _hold_to_names(request.resources, plan.resource_names)
        _hold_to_measures(request.resources, plan.resources)
    return admit_input(plan, request)


def admit_again(plan: Plan, request: RunRequest) -> Admitted:
    """`admit` for what a recorded run was asked, which other names may have been declared for."""
    check_request(request)
    return admit_input(plan, request)


def admit_input(plan: Plan, request: RunRequest) -> Admitted:
    """`admit` for a request that holds an input and nothing else that anybody gave."""
    encoded = _encoded(plan, "input", request.input)
    value = orjson.loads(encoded)
    if type(value) is not dict:
        found = Violation(pointer="", message=f"expected an object, found {type(value).__name__}")
        raise _refused(plan, "input", found)
    if plan.input_check is not None and not plan.input_check.is_valid(value):
        raise _refused(plan, "input", *plan.input_check.violations(value))
    across = crossed(value, plan.crossings_in) if plan.crossings_in else None
    if across is not None:
        if across.violations and plan.business is None:  # else the run is made, and its fallback answers
            raise _refused(plan, "input", *across.violations)
        value = across.value
        encoded = snapshot(value)
    return Admitted(
        request=request,
        encoded=encoded,
        value=value,
        evidence={} if across is None else evidence_of([across]),
        reference=_raw(plan, "reference", request.reference),
        memory=_raw(plan, "memory", request.memory),
        resources=_raw(plan, "resources", request.resources or None),
    )


def _hold_to_names(given: Iterable[str], names: frozenset[str]) -> None:
    unknown = [name for name in given if name not in names]
    if unknown:
        near = nearest(unknown[0], names)
        raise UsageError(
            f"no step can read `resources.{unknown[0]}`: neither a probe nor `given` of the workflow file has that name"
            + (f"; did you mean '{near}'?" if near else f"; expected one of {', '.join(sorted(names))}")
        )


def _hold_to_measures(given: Mapping[str, Json], spec: ResourcesSpec | None) -> None:
    """Refuse what a probe could never say, which a step would meet in the middle of the run."""
    callers = () if spec is None else [name.value for name in spec.given]
    for name, value in given.items():
        measure = None if name in callers else measure_of(name)
        if measure is None or not measure.nonsense(value):
            continue
        typed = f"; on the command line as JSON: --resource {name}:=NUMBER" if isinstance(value, str) else ""
        raise wrong(f"resources.{name}", value, f"what the probe could give, {measure.range}, or null{typed}")


def _raw(plan: Plan, what: str, value: object) -> msgspec.Raw:
    return NULL if value is None else msgspec.Raw(_encoded(plan, what, value))


def _encoded(plan: Plan, what: str, value: object) -> bytes:
    try:
        return snapshot(value)
    except NotJsonError as error:
        raise _refused(plan, what, Violation(pointer=error.pointer, message=error.reason)) from error


def _refused(plan: Plan, what: str, *violations: Violation) -> InputError:
    return InputError(f"the {what} of workflow '{plan.name}'", violations)
