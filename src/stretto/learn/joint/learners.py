"""What turns gradients into new weights: an optimiser for each component, and what became of its gradient."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.optim import SGD, Adam, AdamW

from stretto.learn.differentiable.gradients import Gradients, norms_of
from stretto.learn.differentiable.module import DifferentiableWorkflow
from stretto.learn.joint.options import JointOptions, Learning, Optimizer
from stretto.learn.joint.report import ComponentGradient, Reach

_PREFIX: Final = "optimizer"

Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Learner:
    """One component that learns."""

    name: str
    learning: Learning
    parameters: Mapping[str, nn.Parameter]
    """Those that take a gradient and are no other learner's, by their names in its module."""
    optimizer: torch.optim.Optimizer

    def clip(self, norm: float) -> bool:
        """Shorten the gradient, which is so long, to what it may be; whether that was needed."""
        most = self.learning.clip_norm
        if most is None or norm <= most:
            return False
        for parameter in self.parameters.values():
            if parameter.grad is not None:
                parameter.grad.mul_(most / norm)
        return True

    def state(self) -> Arrays:
        """What the optimiser remembers, by name."""
        places = dict(enumerate(self.parameters))
        return {
            f"{_PREFIX}/{self.name}/{places[place]}/{key}": value.detach().cpu().numpy()
            for place, remembered in self.optimizer.state_dict()["state"].items()
            for key, value in remembered.items()
            if value is not None
        }

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Remember what `state` gave."""
        remembered: dict[int, dict[str, torch.Tensor]] = {}
        for place, name in enumerate(self.parameters):
            start = f"{_PREFIX}/{self.name}/{name}/"
            found = {key[len(start) :]: array for key, array in arrays.items() if key.startswith(start)}
            if found:
                remembered[place] = {key: torch.from_numpy(np.array(array)) for key, array in found.items()}
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": remembered, "param_groups": groups})


class Learners:
    """Every component that learns, and those that do not."""

    def __init__(self, module: DifferentiableWorkflow, options: JointOptions) -> None:
        self._module = module
        taken: set[int] = set()
        self._learners: list[Learner] = []
        self._frozen: list[str] = []
        for name in module.components:
            parameters = dict(module_of(module, name).named_parameters())
            own = {key: each for key, each in parameters.items() if each.requires_grad and id(each) not in taken}
            taken |= {id(each) for each in own.values()}
            if own:
                self._learners.append(_learner(name, options.of(name), own))
            elif parameters and not any(each.requires_grad for each in parameters.values()):
                self._frozen.append(name)

    def step(self, gradients: Gradients) -> dict[str, ComponentGradient]:
        """Change the weights by the gradients that a backward pass left, and forget these; nothing where it says to
        skip the update."""
        frozen = ComponentGradient(norm=0.0, reach=Reach.FROZEN)
        told = dict.fromkeys(self._frozen, frozen)
        norms = norms_of({each.name: [*each.parameters.values()] for each in self._learners})
        for learner in self._learners:
            told[learner.name] = _stepped(learner, norms[learner.name], gradients)
        self._module.zero_grad()
        return {name: told[name] for name in self._module.components if name in told}

    def state(self) -> Arrays:
        """What all optimisers remember."""
        return {key: array for learner in self._learners for key, array in learner.state().items()}

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Remember what `state` gave."""
        for learner in self._learners:
            learner.restore(arrays)


def learning_in(module: DifferentiableWorkflow) -> list[str]:
    """Components of which some parameter takes a gradient."""
    return [name for name in module.components if any(p.requires_grad for p in module_of(module, name).parameters())]


def set_learning(module: DifferentiableWorkflow) -> None:
    """Put what learns into training mode, and what is frozen into eval mode, so that nothing of it moves."""
    module.train()
    learning = learning_in(module)
    for name in module.components:
        if name not in learning:
            module_of(module, name).eval()


def module_of(module: DifferentiableWorkflow, name: str) -> nn.Module:
    """The module that learns in place of a component's own."""
    return module.module_of(name)


def _learner(name: str, learning: Learning, parameters: dict[str, nn.Parameter]) -> Learner:
    return Learner(
        name=name, learning=learning, parameters=parameters, optimizer=_optimizer(learning, [*parameters.values()])
    )


def _optimizer(learning: Learning, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    rate, decay = learning.learning_rate, learning.weight_decay
    if learning.optimizer is Optimizer.SGD:
        return SGD(parameters, lr=rate, weight_decay=decay, momentum=learning.momentum)
    make = Adam if learning.optimizer is Optimizer.ADAM else AdamW
    return make(parameters, lr=rate, weight_decay=decay)


def _stepped(learner: Learner, norm: float, gradients: Gradients) -> ComponentGradient:
    if gradients.skipped:
        return ComponentGradient(norm=0.0, reach=Reach.SKIPPED)
    if all(each.grad is None for each in learner.parameters.values()):
        return ComponentGradient(norm=0.0, reach=Reach.UNREACHED)
    is_clipped = learner.clip(norm)
    learner.optimizer.step()
    return ComponentGradient(norm=norm, reach=Reach.CLIPPED if is_clipped else Reach.STEPPED)
