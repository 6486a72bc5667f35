"""Of recorded steps, which can be explained, and by whom."""

from collections.abc import Mapping, Sequence

from stretto.record.model import Run, StepRecord
from stretto.types.enums import StepStatus
from stretto.types.errors import UsageError


def answered_itself(step: StepRecord) -> bool:
    """Whether its component answered, and nothing stood in its place or before it."""
    return step.status is StepStatus.OK and not step.simulated


def is_alike(step: StepRecord, other: StepRecord | None) -> bool:
    """Whether the same component answered itself at the same step of another run."""
    return other is not None and other.component == step.component and answered_itself(other)


def answered_steps(run: Run) -> list[StepRecord]:
    """Steps that a component answered itself, but for those that judge the run. Raises UsageError where none was."""
    steps = [step for step in run.steps if step.component and step.status is StepStatus.OK and not step.rewards]
    if not steps:
        raise UsageError(f"no step of run {run.id} was answered by its component, so there is nothing to explain")
    return steps


def hold_to_alternatives(step: StepRecord, chooses: Mapping[str, Sequence[str]]) -> None:
    """Raise UsageError where its component chooses of others by now."""
    for action in step.actions:
        now = chooses.get(action.name, ())
        if tuple(now) != tuple(action.support):
            raise UsageError(
                f"component '{step.component}' chose {action.name} of {', '.join(action.support)}, and now chooses of "
                f"{', '.join(now) or 'nothing'}; explain the run by the version that made it"
            )
