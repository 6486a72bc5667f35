"""The modules that learn in place of components' own, so that what serves stays what it is."""

import copy
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from torch import nn

from stretto.components.torch.component import TorchComponent
from stretto.components.torch.weights import weights_digest
from stretto.learn.differentiable.building import hold_not_remote
from stretto.learn.differentiable.node import Node
from stretto.learn.differentiable.weights import Weights
from stretto.types.errors import UsageError
from stretto.types.ids import Digest

MOST_DIGESTED: Final = 1_000_000
"""Weights of which a digest is made with each batch that a surrogate learns from: some 2 ms."""


class Copies:
    """Copies of components' modules, which stand in the module of a whole workflow."""

    def __init__(self, modules: Mapping[str, nn.Module], whole: nn.Module) -> None:
        """Puts them into `whole`."""
        self.of = modules
        """By component."""
        self._whole = whole
        self._attributes: dict[str, str] = {}
        for name, module in modules.items():
            self._attributes[name] = _attribute_of(name, whole)
            whole.add_module(self._attributes[name], module)
        self.weights = Weights(modules, whole)
        self._digests: tuple[tuple[int, int], dict[str, Digest]] | None = None

    def look_again(self) -> None:
        """See what was put inside a component's module. Raise UsageError where another stands in its own place."""
        if not self.weights.are_others():
            return
        for name, module in self.of.items():
            if self._whole._modules.get(self._attributes[name]) is not module:  # noqa: SLF001  # torch raises for none
                raise UsageError(
                    f"another module was put in the place of component '{name}', which the workflow does not declare; "
                    "give the workflow another component before: "
                    "`as_module(workflow.with_component(component.with_module(module)))`"
                )
        self.weights.look()

    @property
    def shared(self) -> tuple[tuple[str, ...], ...]:
        """Components that have parameters in common which learn."""
        owners: dict[int, list[str]] = {}
        for name, those in self.weights.of.items():
            for each in those:
                if each.requires_grad:
                    owners.setdefault(id(each), []).append(name)
        return tuple(dict.fromkeys(tuple(names) for names in owners.values() if len(names) > 1))

    @property
    def learning(self) -> set[str]:
        """Components with parameters that take a gradient."""
        return {name for name, those in self.weights.of.items() if _takes_gradient(those)}

    def digests(self) -> Mapping[str, Digest]:
        """Of each component's weights as they are; made once until those change."""
        version = self.weights.version()
        if self._digests is None or self._digests[0] != version:
            self._digests = version, {name: weights_digest(module.state_dict()) for name, module in self.of.items()}
        return self._digests[1]

    def behaviour(self, name: str) -> Digest:
        """Of a component's weights as they are; empty for large ones, of which a batch need not make it."""
        large = sum(each.numel() for each in self.weights.of[name]) > MOST_DIGESTED
        return Digest("") if large else weights_digest(self.of[name].state_dict())


def copied(components: Mapping[str, TorchComponent]) -> dict[str, nn.Module]:
    """Copies of their modules that learn; what modules share they share, and what is frozen is not copied."""
    modules = {name: each.module for name, each in components.items()}
    memo: dict[int, Any] = {}
    for module in modules.values():
        memo |= {id(parameter): parameter for parameter in module.parameters() if not parameter.requires_grad}
    return copy.deepcopy(modules, memo)


def freeze_but(train: Collection[str], modules: Mapping[str, nn.Module], nodes: Sequence[Node], workflow: str) -> None:
    """Let only these components learn. Raises UsageError for one that is not there, or has nothing to learn."""
    if isinstance(train, str):
        raise UsageError(f"`train` is a list of components, and was given '{train}'; write train=['{train}']")
    for name in train:
        if name not in modules:
            hold_not_remote(nodes, name)
            raise UsageError(
                f"workflow '{workflow}' has no differentiable component '{name}'; it has: {', '.join(modules)}"
            )
        if not _takes_gradient(modules[name].parameters()):
            raise UsageError(
                f"component '{name}' is frozen: none of its parameters takes a gradient, so it cannot learn"
            )
    learning = {id(each) for name in train for each in modules[name].parameters() if each.requires_grad}
    for each in chain.from_iterable(module.parameters() for module in modules.values()):
        if id(each) not in learning and each.requires_grad:
            each.requires_grad_(False)


def _attribute_of(component: str, whole: nn.Module) -> str:
    """What a component's module is called in `whole`: its name, with ``_`` for dots and after a name that is taken."""
    name = component.replace(".", "_")
    while hasattr(whole, name):
        name += "_"
    return name


def _takes_gradient(parameters: Iterable[nn.Parameter]) -> bool:
    return any(each.requires_grad for each in parameters)
