"""The step of a recorded run that was meant."""

from stretto.record.model import Run, StepRecord
from stretto.spec.suggest import nearest
from stretto.types.enums import StepStatus
from stretto.types.errors import UsageError


def called_step(run: Run, path: str) -> StepRecord:
    """The step at a path, which made a call or was skipped before it; raises UsageError for one that holds others."""
    found = recorded_step(run, path)
    if not found.component and found.status is not StepStatus.SKIPPED:
        raise UsageError(
            f"step '{path}' calls nothing itself, so no output can stand in place of a call; give those of the steps "
            "inside it"
        )
    return found


def recorded_step(run: Run, path: str) -> StepRecord:
    """The step at a path; raises UsageError with the nearest, those there are, or why it has no record."""
    found = next((step for step in run.steps if step.path == path), None)
    if found is not None:
        return found
    paths = [str(step.path) for step in run.steps]
    inside = [each for each in paths if each.startswith((f"{path}[", f"{path}/"))]
    if inside:
        why = "is one item or round" if path.endswith("]") else "did not end"
        raise UsageError(
            f"step '{path}' of run {run.id} {why}, so it has no record of its own; the steps inside it have: "
            f"{', '.join(inside)}"
        )
    guess = nearest(path, paths)
    hint = f"did you mean '{guess}'? it has" if guess else "it has"
    raise UsageError(f"run {run.id} has no step '{path}'; {hint}: {', '.join(paths) or 'none'}")
