"""A run explained by a workflow: its choices by their inputs, its answers by replays."""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias, cast

from stretto.learn.explain.explained import ChoiceExplained, FieldEffect, RunExplained, StepExplained
from stretto.learn.explain.fields import MOST, field_effects
from stretto.record.model import Run, StepRecord
from stretto.runtime.workflow import Workflow
from stretto.types.enums import StepStatus
from stretto.types.errors import InputError, ReplayError
from stretto.types.json import JsonObject

OnStep: TypeAlias = Callable[[StepRecord], None]

TORCH: Final = "torch"
"""Kind of the components whose choices are attributed."""


async def explain_run(
    workflow: Workflow,
    run: Run,
    steps: Sequence[StepRecord],
    others: Sequence[Run],
    *,
    most: int = MOST,
    on_step: OnStep | None = None,
) -> RunExplained:
    """Explain these steps of a run that the workflow made, held against other runs of it.

    Every replay is kept in the workflow's store: give it one of its own. What an answer was worth is told only where
    the run has a reward. `on_step` hears of each step before it is explained.
    """
    told = []
    for step in steps:
        if on_step is not None:
            on_step(step)
        alike = _same(step, others)
        choices = _choices(workflow, step, alike)
        effects = () if run.reward is None else await _effects(workflow, run, step, alike, most)
        told.append(StepExplained(path=step.path, component=step.component, choices=choices, effects=effects))
    return RunExplained(run=run.id, reward=run.reward, compared=len(others), steps=tuple(told))


def _choices(workflow: Workflow, step: StepRecord, alike: Sequence[StepRecord]) -> tuple[ChoiceExplained, ...]:
    component = workflow.plan.components.get(step.component)
    if component is None or component.card.kind != TORCH or not step.actions:
        return ()
    from stretto.components.torch.component import TorchComponent  # torch, only when there is a choice of it
    from stretto.learn.explain.choice import explain_choice

    asked = [cast("JsonObject", each.input_value) for each in alike]
    request, torch_component = cast("JsonObject", step.input_value), cast("TorchComponent", component)
    return tuple(explain_choice(torch_component, request, action, others=asked) for action in step.actions)


async def _effects(
    workflow: Workflow, run: Run, step: StepRecord, alike: Sequence[StepRecord], most: int
) -> tuple[FieldEffect, ...]:
    """Chance is the same in every replay: choices are drawn by the run's seed. Writes are never performed."""

    async def replayed(output: JsonObject) -> float | None:
        try:
            return (await workflow.replay(run, outputs={step.path: output})).reward
        except (InputError, ReplayError):  # no answer that this component could have given, or a write in the way
            return None

    answers = [cast("JsonObject", each.output_value) for each in alike]
    output, reward = cast("JsonObject", step.output_value), cast("float", run.reward)
    return await field_effects(output, reward, answers, replayed, most=most)


def _same(step: StepRecord, others: Sequence[Run]) -> list[StepRecord]:
    """The same component at the same step in other runs, where it answered itself."""
    return [
        each
        for run in others
        for each in run.steps
        if (each.path, each.component, each.status) == (step.path, step.component, StepStatus.OK) and not each.simulated
    ]
