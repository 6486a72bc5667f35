"""By what a workflow is trained: its policy by comparing runs, or its networks by the gradient."""

from enum import StrEnum

from stretto.components.policy import SoftmaxPolicy
from stretto.runtime.workflow import Workflow
from stretto.types.card import CHOOSES
from stretto.types.errors import UsageError
from stretto.types.protocols import Component, Reflects, Trainable


class TrainMode(StrEnum):
    """What learns, and from what."""

    POLICY = "policy"
    """One policy, from runs of one task compared with each other."""
    END_TO_END = "end-to-end"
    """Every PyTorch component together, from the gradient of the reward."""


def mode_of(workflow: Workflow, asked: TrainMode | None) -> TrainMode:
    """The mode that was asked for, else ``policy`` where the workflow has one to train, else ``end-to-end``."""
    if asked is not None:
        return asked
    return TrainMode.END_TO_END if networks(workflow) and not learners(workflow) else TrainMode.POLICY


def learner_of(workflow: Workflow, name: str | None) -> Component:
    """The component to train, a policy whose weights are here or one that learns where it is; UsageError names those
    there are."""
    there = learners(workflow)
    if name is None and len(there) == 1:
        return next(iter(there.values()))
    if name in there:
        return there[name]
    told = f"it has: {', '.join(there)}" if there else _none(workflow)
    what = "name one with --component" if name is None else f"'{name}' is no policy of it"
    raise UsageError(f"workflow '{workflow.name}': {what}; {told}")


def learners(workflow: Workflow) -> dict[str, Component]:
    """What mode ``policy`` can train."""
    return {name: each for name, each in workflow.plan.components.items() if _learns(each)}


def networks(workflow: Workflow) -> list[str]:
    """What mode ``end-to-end`` can train."""
    return [name for name, each in workflow.plan.components.items() if _is_network(each)]


def _is_network(component: Component) -> bool:
    return isinstance(component, Trainable) and component.card.trainable and not isinstance(component, SoftmaxPolicy)


def _learns(component: Component) -> bool:
    chooses = CHOOSES in component.card.capabilities
    return isinstance(component, SoftmaxPolicy) or (chooses and isinstance(component, Reflects))


def _none(workflow: Workflow) -> str:
    if found := networks(workflow):
        return f"it has none, but PyTorch components that learn together with --mode end-to-end: {', '.join(found)}"
    frozen = [name for name, each in workflow.plan.components.items() if CHOOSES in each.card.capabilities]
    if frozen:
        return f"'{frozen[0]}' chooses and does not learn; where it is served, make it a stretto.LearningPolicy"
    return "it has none; make one with stretto.SoftmaxPolicy"
