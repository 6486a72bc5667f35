"""Which steps a run's reward can depend on: those whose answers reach one that judged it, by the plan's data flow."""

from stretto.plan.model import Plan
from stretto.record.model import Run


def reaching_reward(plan: Plan, run: Run) -> frozenset[str]:
    """Names of the outermost steps whose answers something reads, itself or by others between, that gave a reward.

    A loop or a map is taken whole. All, where no step gave a reward and the run has one nevertheless.
    """
    judged = {outermost(step.path) for step in run.steps if step.rewards}
    if not judged:
        return frozenset(op.name for op in plan.body.ops)
    reached = {op.name for op in plan.body.ops if op.name in judged}
    for op in reversed(plan.body.ops):  # each follows what it needs
        readers = [each for each in plan.body.ops if each.name in reached]
        if any(op.slot in each.reads for each in readers):
            reached.add(op.name)
    return frozenset(reached)


def outermost(path: str) -> str:
    """Name of the step of the workflow itself that a path lies in."""
    return path.partition("/")[0].partition("[")[0]
