"""What a program asks of a workflow, judged before anything is opened or run."""

from collections.abc import Iterable, Mapping
from typing import cast

import orjson

from stretto.components.python.decorator import component_of
from stretto.engine.request import RunRequest, check_request
from stretto.plan.model import Plan
from stretto.record.canonical import snapshot
from stretto.record.model import Run
from stretto.types.arguments import check_flag, check_text, check_whole, wrong
from stretto.types.card import Card
from stretto.types.errors import InputError, NotJsonError, UsageError, Violation
from stretto.types.protocols import Component


def as_component(given: object) -> Component:
    """What can stand as a component: it has a card and can be called, or was declared by a decorator."""
    declared = component_of(given)
    if declared is not None:
        return declared
    if isinstance(given, type) or not callable(given) or not isinstance(getattr(given, "card", None), Card):
        raise wrong("the component", given, "what is declared with @stretto.component, or has a card and can be called")
    return cast("Component", given)


def check_request_type(request: object) -> None:
    """Raise UsageError for what is no request."""
    if not isinstance(request, RunRequest):
        raise wrong("the request", request, "a stretto.RunRequest; `run` takes an input")


def as_requests(requests: object) -> list[RunRequest]:
    """Inputs and requests as requests; raises UsageError for what is no collection of them."""
    if isinstance(requests, str | bytes | Mapping) or not isinstance(requests, Iterable):
        raise wrong("requests", requests, "a list, each an input (a mapping) or a stretto.RunRequest")
    return [_as_request(index, each) for index, each in enumerate(requests)]


def _as_request(index: int, given: object) -> RunRequest:
    if isinstance(given, RunRequest):
        return given
    if not isinstance(given, Mapping):
        raise wrong(f"request {index}", given, "an input (a mapping) or a stretto.RunRequest")
    return RunRequest(input=given)


def check_requests(plan: Plan, requests: Iterable[RunRequest]) -> None:
    """Raise UsageError or InputError for the first request that the engine would refuse, with its place."""
    for index, request in enumerate(requests):
        try:
            check_request(request)
        except UsageError as error:
            raise UsageError(f"request {index}: {error}") from error
        _check_input(plan, f"input {index} of workflow '{plan.name}'", request.input)


def _check_input(plan: Plan, what: str, given: object) -> None:
    try:
        value = orjson.loads(snapshot(given))
    except NotJsonError as error:
        raise InputError(what, [Violation(pointer=error.pointer, message=error.reason)]) from error
    if type(value) is not dict:
        raise InputError(what, [Violation(pointer="", message=f"expected an object, found {type(value).__name__}")])
    if plan.input_check is not None and not plan.input_check.is_valid(value):
        raise InputError(what, plan.input_check.violations(value))


def check_many(concurrency: object, on_run: object) -> None:
    """Raise UsageError for options of many runs that nothing could be made of."""
    check_whole("concurrency", concurrency, least=1)
    if on_run is not None and not callable(on_run):
        raise wrong("on_run", on_run, "a function that takes a run")


def check_replay(run: object, outputs: object, dry_run: object) -> None:
    """Raise UsageError for what cannot be replayed, or not so."""
    if not isinstance(run, Run):
        raise wrong("the run to replay", run, "a stretto.Run; `store.get(run_id)` reads one")
    if outputs is not None and not isinstance(outputs, Mapping):
        raise wrong("outputs", outputs, "a mapping from step paths to outputs")
    for path in outputs or ():
        check_text("a step path of outputs", path)
    check_flag("dry_run", dry_run)
