"""Tells components that learn on their own side how their answers were judged."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from stretto.learn.arguments import as_runs, check_workflow
from stretto.learn.rewards import reward_as_of
from stretto.learn.usable import ACCIDENTS
from stretto.record.model import Annotation, Run, StepRecord
from stretto.runtime.workflow import Workflow
from stretto.types.enums import StepStatus
from stretto.types.errors import ComponentError, LearningError
from stretto.types.json import Json
from stretto.types.messages import RunInfo
from stretto.types.protocols import Component, Reflects
from stretto.types.signals import Corrected, Signal

CREDIT: Final = "credit"
"""Annotation of a step: what of the run's reward it earned, a number."""

CORRECTION: Final = "correction"
"""Annotation of a step: ``{"pointer", "value"}``, what a field of its output ought to have been."""

AT_ONCE: Final = 16
"""Signals that are sent side by side."""

_EVIDENCE: Final = "acp"
"""Key of a step's evidence under which the answer of another server left its gradient handle."""


class Reflected(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one signal."""

    run_id: str
    path: str
    component: str
    reward: float | None
    corrections: int
    accepted: bool
    note: str = ""
    """Why it will not be learnt from, in the component's words."""


async def reflect(workflow: Workflow, runs: Iterable[Run], *, as_of_ns: int | None = None) -> list[Reflected]:
    """Tell what is known of runs, as of a time, to the components that answered in them and can learn from it.

    One signal for each step that such a component answered. Left out are steps that were simulated, reused or
    quarantined, which are no answers of it. The reward of a run that an accident downgraded (a time-out, congestion, an
    open breaker) is told as unknown: it judges the weather. A component that cannot be reached is told of, never
    raised. Opens the workflow, which stays open. Raises LearningError for a run of another workflow, or that has not
    ended, and for an annotation that is of another form.
    """
    check_workflow(workflow)
    learners = {name: each for name, each in workflow.plan.components.items() if isinstance(each, Reflects)}
    if not learners:
        raise LearningError(
            f"workflow '{workflow.name}' has no component that learns on its own side: one with a method `reflect`, or "
            "one of kind acp whose card claims it; `stretto train` is for policies that learn here"
        )
    runs = [_held(run, workflow) for run in as_runs(runs)]
    asked = [each for run in runs for each in _signals(workflow, run, learners, as_of_ns)]
    places = asyncio.Semaphore(AT_ONCE)

    async def told(step: StepRecord, signal: Signal) -> Reflected:
        async with places:
            return await _told(learners[step.component], step, signal)

    await workflow.open()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(told(step, signal)) for step, signal in asked]
    return [task.result() for task in tasks]


def _held(run: Run, workflow: Workflow) -> Run:
    """The run, of which its components may be told: those of another workflow may have the same names."""
    if run.manifest.workflow != workflow.name:
        raise LearningError(f"run {run.id} is of workflow '{run.manifest.workflow}'; expected one of '{workflow.name}'")
    if run.status is None:
        raise LearningError(f"run {run.id} has not ended; what is to be judged in it may still come")
    return run


def _signals(
    workflow: Workflow, run: Run, learners: Mapping[str, Component], as_of_ns: int | None
) -> Iterator[tuple[StepRecord, Signal]]:
    steps = [step for step in run.steps if step.component in learners and _is_its_answer(step)]
    notes = workflow.store.annotations(run.id, as_of_ns=as_of_ns) if steps else ()
    for step in steps:
        yield step, _signal(run, step, notes, as_of_ns)


def _is_its_answer(step: StepRecord) -> bool:
    return step.status is StepStatus.OK and not (step.simulated or step.reused_from or step.is_quarantined)


def _signal(run: Run, step: StepRecord, notes: Sequence[Annotation], as_of_ns: int | None) -> Signal:
    of_step = [note for note in notes if note.path == step.path]
    told = step.evidence.get(_EVIDENCE)
    handle = told.get("gradient_handle") if isinstance(told, dict) else None
    is_accident = any(each.reason in ACCIDENTS for each in run.steps)
    return Signal(
        run=_info(run),
        path=step.path,
        reward=None if is_accident else reward_as_of(run, notes, as_of_ns),
        credit=_credit(of_step),
        terms=() if is_accident else run.rewards,
        corrections=tuple(_correction(note) for note in of_step if note.name == CORRECTION),
        gradient_handle=handle if isinstance(handle, str) else "",
    )


def _credit(notes: Iterable[Annotation]) -> float | None:
    """The latest counts."""
    latest = max((note for note in notes if note.name == CREDIT), key=lambda note: note.at_ns, default=None)
    if latest is None or latest.value is None:
        return None
    if isinstance(latest.value, bool) or not isinstance(latest.value, int | float):
        raise _other_form(latest, "a number, or null for unknown")
    return float(latest.value)


class _Correction(msgspec.Struct, frozen=True, kw_only=True):
    """The value of such an annotation."""

    value: Json
    pointer: str = ""


def _correction(note: Annotation) -> Corrected:
    try:
        read = msgspec.convert(note.value, _Correction)
    except msgspec.ValidationError as error:
        raise _other_form(note, '{"pointer": "/field", "value": ...}') from error
    return Corrected(pointer=read.pointer, value=read.value, by=note.by, reason=note.reason)


def _other_form(note: Annotation, expected: str) -> LearningError:
    place = f"annotation '{note.name}' of run {note.run_id}, step '{note.path}',"
    return LearningError(f"{place} is {note.value!r:.80}; expected {expected}")


def _info(run: Run) -> RunInfo:
    return RunInfo(
        id=run.id,
        workflow_run_id=run.workflow_run_id,
        workflow=run.manifest.workflow,
        version=run.manifest.version,
        tenant=run.tenant,
        labels=run.labels,
        seed=run.seed,
        traceparent=run.traceparent,
        tracestate=run.tracestate,
    )


async def _told(component: Component, step: StepRecord, signal: Signal) -> Reflected:
    said: bool | str
    try:
        said = await component.reflect(signal) if isinstance(component, Reflects) else False
    except ComponentError as error:
        said = str(error)
    return Reflected(
        run_id=signal.run.id,
        path=step.path,
        component=step.component,
        reward=signal.reward,
        corrections=len(signal.corrections),
        accepted=said is True,
        note=said if isinstance(said, str) else "",
    )
