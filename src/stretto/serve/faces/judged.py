"""What a caller says of an answer afterwards, as annotations of the run that gave it."""

import time
from collections.abc import Iterator
from typing import Final

from stretto.record.model import Annotation, Run
from stretto.store.sqlite import Store
from stretto.types.errors import UsageError
from stretto.types.ids import RunId
from stretto.types.signals import Signal

REWARD: Final = "reward"
"""Annotation of a run's whole reward (`learn.rewards`)."""

CORRECTION: Final = "correction"
"""Annotation: ``{"pointer", "value"}``, what a field of the output ought to have been (`learn.reflect`)."""


def keep(store: Store, workflow: str, signal: Signal) -> bool | str:
    """Append what is said of the run that the signal's gradient handle names; a text says why it is not kept."""
    run = _judged(store, signal)
    if run is None:
        return "no run here has this gradient handle; it is that of the answer, or the run was deleted"
    if run.manifest.workflow != workflow:
        return f"run {run.id} is one of workflow '{run.manifest.workflow}', not of '{workflow}'"
    notes = list(_notes(run.id, signal, time.time_ns()))
    if not notes:
        return "the signal says nothing: no credit, no reward and no correction; judge the calling run first"
    store.annotate(*notes)
    return True


def _judged(store: Store, signal: Signal) -> Run | None:
    """By the handle, whole: the beginning of an id would find a run that nobody meant."""
    try:
        run = store.get(signal.gradient_handle)
    except UsageError:
        return None
    return run if run.id == signal.gradient_handle else None


def _notes(run_id: RunId, signal: Signal, now_ns: int) -> Iterator[Annotation]:
    by = signal.run.workflow_run_id or signal.run.id
    earned = signal.reward if signal.credit is None else signal.credit
    if earned is not None:
        what = "reward of the calling run" if signal.credit is None else "credit"
        reason = f"{what}, step {signal.path}"
        yield Annotation(run_id=run_id, name=REWARD, value=earned, at_ns=now_ns, by=by, reason=reason)
    for each in signal.corrections:
        value = {"pointer": each.pointer, "value": each.value}
        yield Annotation(
            run_id=run_id, name=CORRECTION, value=value, at_ns=now_ns, by=each.by or by, reason=each.reason
        )
