"""What a program asks of a workflow, judged before anything is opened or run."""

import inspect
from collections.abc import Mapping
from typing import Final, cast

from stretto.components.python.decorator import component_of
from stretto.engine.admission import Admitted, admit, admit_input
from stretto.engine.request import RunRequest
from stretto.plan.model import Plan
from stretto.record.model import Run
from stretto.types.arguments import as_tuple, check_flag, check_text, check_whole, shown, wrong
from stretto.types.card import Card
from stretto.types.enums import RunStatus
from stretto.types.errors import InputError, UsageError
from stretto.types.protocols import Component

TRAINING: Final = "train"
"""The label ``purpose`` of a training's runs."""

GATEWAY_KEY: Final = "gateway_key"
"""The label under which a gateway's run has its key."""


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


def admit_each(plan: Plan, requests: object) -> list[Admitted]:
    """Inputs and requests as the engine takes them.

    Raises UsageError for what is no collection of them, UsageError or InputError for the first that the engine would
    refuse, with its place.
    """
    given = as_tuple("requests", requests, "a list, each an input (a mapping) or a stretto.RunRequest")
    return [_admit(plan, index, each) for index, each in enumerate(given)]


def _admit(plan: Plan, index: int, given: object) -> Admitted:
    try:
        if isinstance(given, RunRequest):
            return admit(plan, given)
        if type(given) is dict or isinstance(given, Mapping):  # asking an abstract class costs 0.2 µs
            return admit_input(plan, RunRequest(input=given))
    except InputError as error:
        raise InputError(f"request {index}: {error.what}", error.violations) from error
    except UsageError as error:
        raise UsageError(f"request {index}: {error}") from error
    raise wrong(f"request {index}", given, "an input (a mapping) or a stretto.RunRequest")


def check_many(concurrency: object, on_run: object) -> None:
    """Raise UsageError for options of many runs that nothing could be made of."""
    check_whole("concurrency", concurrency, least=1)
    if on_run is None:
        return
    if not callable(on_run):
        raise wrong("on_run", on_run, "a function that takes a run")
    if _is_lazy(on_run) or _is_lazy(type(on_run).__call__):
        raise UsageError(
            f"on_run is {shown(on_run)}, an async function or a generator, of which a call does nothing by itself; "
            "expected a plain function that takes a run. Await what is to be awaited after run_many, or begin a task "
            "in a plain function"
        )


def _is_lazy(function: object) -> bool:
    return any(
        judged(function)
        for judged in (inspect.iscoroutinefunction, inspect.isasyncgenfunction, inspect.isgeneratorfunction)
    )


def training_labels(update: int, task: str) -> dict[str, str]:
    """The labels by which a run of a training is known."""
    return {"task": task, "group": f"{update}/{task}", "purpose": TRAINING}


def is_of_training(labels: Mapping[str, str]) -> bool:
    """Whether a training made the run of these labels: all of `training_labels`, for a caller may say ``train`` too."""
    update, _, task = labels.get("group", "").partition("/")
    return labels.get("purpose") == TRAINING and update.isdecimal() and labels.get("task") == task


def is_of_gateway(labels: Mapping[str, str]) -> bool:
    """Whether a gateway made the run of these labels, of an agent's calls."""
    return GATEWAY_KEY in labels


def check_resumable(run: Run) -> None:
    """Raise UsageError for a run that has ended, and for one of a training or of a gateway.

    The latter had memories of its own, which ended with their process; going on, it would read and write those of
    serving.
    """
    if run.status not in (None, RunStatus.PARKED):
        raise UsageError(
            f"run {run.id} has ended ({run.status}); only an interrupted or parked run can be resumed. Replay it"
        )
    if is_of_training(run.labels):
        raise UsageError(
            f"run {run.id} was made by a training (purpose={TRAINING}, group={run.labels['group']}): what it "
            "remembered was its own and has ended with its process, so it cannot go on. `stretto train ... --resume` "
            "makes the runs of an unfinished update again; to see this one again, replay it"
        )
    if is_of_gateway(run.labels):
        raise UsageError(
            f"run {run.id} was made at a gateway, by an agent that calls on under the key {run.labels[GATEWAY_KEY]}; "
            f"`stretto gateway --name {run.manifest.workflow}` over this store goes on with it"
        )


def check_replay(run: object, outputs: object, dry_run: object) -> None:
    """Raise UsageError for what cannot be replayed, or not so."""
    if not isinstance(run, Run | str):
        raise wrong("the run to replay", run, "a stretto.Run, or the id of one")
    if outputs is not None and not isinstance(outputs, Mapping):
        raise wrong("outputs", outputs, "a mapping from step paths to outputs")
    for path in outputs or ():
        check_text("a step path of outputs", path)
    check_flag("dry_run", dry_run)
