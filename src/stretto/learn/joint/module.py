"""The module of a joint training: which of its components learn, held against what was asked."""

from collections.abc import Mapping

from stretto.components.torch.component import TorchComponent
from stretto.learn.adversity.perturbation import Perturbation
from stretto.learn.arguments import check_workflow
from stretto.learn.differentiable.building import components_of
from stretto.learn.differentiable.module import DifferentiableWorkflow, as_module
from stretto.learn.joint.learners import set_learning
from stretto.learn.joint.options import JointOptions
from stretto.runtime.workflow import Workflow
from stretto.spec.suggest import nearest
from stretto.types.errors import UsageError


def learning_module(
    workflow: Workflow, options: JointOptions, perturb: Mapping[str, Perturbation]
) -> DifferentiableWorkflow:
    """The workflow as a module of which all learns but what is frozen, while some of it is perturbed.

    Raises UsageError for options of a component that is not there or cannot learn, where all is frozen, and where two
    components that share weights are to learn otherwise.
    """
    check_workflow(workflow)
    components = components_of(workflow.for_rollouts().plan)
    _hold_to_components(workflow.name, components, options)
    learning = [name for name, component in components.items() if component.is_trainable and name not in options.frozen]
    if not learning:
        raise UsageError(_nothing_learns(workflow.name, components, options))
    module = as_module(workflow, train=learning, perturb=perturb)
    _hold_shared(module, options)
    set_learning(module)
    return module


def _hold_to_components(workflow: str, components: Mapping[str, TorchComponent], options: JointOptions) -> None:
    for name, own in options.components.items():
        if name not in components:
            guess = nearest(name, components)
            hint = f"did you mean '{guess}'? " if guess else ""
            raise UsageError(
                f"workflow '{workflow}' has no differentiable component '{name}'; {hint}it has: {', '.join(components)}"
            )
        parameters = [*components[name].module.parameters()]
        if not parameters:
            raise UsageError(
                f"{name}.{next(iter(own.given), 'frozen')} has no effect: component '{name}' has no parameters"
            )
        asked = [option for option in own.given if not (option == "frozen" and own.frozen)]
        if asked and not components[name].is_trainable:
            raise UsageError(
                f"{name}.{asked[0]} is set, but component '{name}' is frozen: none of its parameters takes a gradient, "
                "so it cannot learn. Leave it out, or let the module's parameters require gradients"
            )


def _nothing_learns(workflow: str, components: Mapping[str, TorchComponent], options: JointOptions) -> str:
    frozen = [name for name in components if name in options.frozen]
    told = f"frozen are: {', '.join(frozen)}; let one of them learn" if frozen else _without_gradients(components)
    return f"nothing of workflow '{workflow}' is left to learn: {told}"


def _without_gradients(components: Mapping[str, TorchComponent]) -> str:
    return f"no parameter of {', '.join(components)} takes a gradient"


def _hold_shared(module: DifferentiableWorkflow, options: JointOptions) -> None:
    """Raise UsageError where weights that two components share would have to be changed in two ways."""
    for names in module.shared:
        first = _told(names[0], options)
        for other in names[1:]:
            if _told(other, options) != first:
                raise UsageError(
                    f"components '{names[0]}' and '{other}' share weights, and are to learn otherwise; give both the "
                    "same options"
                )


def _told(name: str, options: JointOptions) -> tuple[object, bool]:
    return options.of(name), name in options.frozen
