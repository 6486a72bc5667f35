"""Components that did not open when they were last needed, while something else answered for them."""

from collections.abc import Iterator
from itertools import islice
from typing import Final, TypeAlias

from stretto.cli.doctor.findings import Finding, State
from stretto.cli.words import time_text
from stretto.record.model import ErrorInfo, Run, StepRecord
from stretto.store.sqlite import Store
from stretto.types.enums import Reason, StepStatus
from stretto.types.errors import ComponentError, InDoubtError, NotOpenError, RejectedError
from stretto.types.ids import FALLBACK_PATH

LOOKED_AT: Final = 50
"""Runs, the newest: what did not open longer ago says little of now."""

MOST_LISTED: Final = 2000
"""Runs among which these are sought: those that were not tried, after failures in a row, hide what those were."""

_ASKED: Final = frozenset({ComponentError.code, RejectedError.code, InDoubtError.code})
"""Codes of failures of a component that was asked."""

_EVERYTHING: Final = ""
"""In place of a component, where the workflow's own fallback answered for all."""

Needed: TypeAlias = tuple[str, str]
"""Workflow and component."""


def unopened(store: Store) -> Iterator[Finding]:
    """A finding for each component that did not open for the newest run that needed it."""
    known: set[Needed] = set()
    listed = store.list(limit=MOST_LISTED)
    for summary in islice((each for each in listed if each.reason is not Reason.BREAKER), LOOKED_AT):
        run = store.get(summary.id)
        found = dict(_needed(run)) if not run.replay_of else {}
        for needed, error in found.items():
            if needed not in known and error is not None:
                yield _finding(needed, run, error)
        known |= found.keys()


def _needed(run: Run) -> Iterator[tuple[Needed, ErrorInfo | None]]:
    """What a run needed, and why it did not open; None for what did. What was not asked tells nothing."""
    workflow = run.manifest.workflow
    if run.error is not None and run.error.code == NotOpenError.code and not run.error.path:
        yield (workflow, _EVERYTHING), run.error
        return
    for step in run.steps:
        if step.path == FALLBACK_PATH:  # it answers whatever else is open
            continue
        yield (workflow, _EVERYTHING), None  # or no step of the run's own were begun
        if step.error is not None and step.error.code == NotOpenError.code:
            yield (workflow, step.component), step.error
        elif step.component and _was_asked(step):
            yield (workflow, step.component), None


def _was_asked(step: StepRecord) -> bool:
    """Whether the component itself answered, or raised."""
    return step.status is StepStatus.OK or (step.error is not None and step.error.code in _ASKED)


def _finding(needed: Needed, run: Run, error: ErrorInfo) -> Finding:
    workflow, component = needed
    return Finding(
        name=f"opening of {component or workflow}",
        state=State.WRONG,
        text=f"workflow '{workflow}' on {time_text(run.started_at_ns)}: {error.message}",
        remedy="see whether what its `open` waits for is there; runs try to open it again by themselves",
    )
