"""The weights of a workflow's modules: listed once, since torch looks through all modules for them, and again when one
was put in another's place."""

from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from operator import attrgetter, is_, methodcaller
from typing import Any, Final

import torch
from torch import Tensor, nn

from stretto.learn.differentiable.gradients import MOST_COPIED

_HELD: Final = methodcaller("values")

WRITES: Final = attrgetter("_version")
"""To a tensor, as torch counts them; raises RuntimeError for one made in inference mode."""

_IS_CPU: Final = attrgetter("is_cpu")


class Weights:
    """Parameters and buffers of modules, by the component that each stands for."""

    def __init__(self, modules: Mapping[str, nn.Module], whole: nn.Module) -> None:
        """`whole` holds the modules."""
        self._components = modules
        self._whole = whole
        self._looked = 0
        self.look()

    def look(self) -> None:
        """List them."""
        modules = dict.fromkeys(each for module in self._components.values() for each in module.modules())
        self._places = [self._whole._modules, *(place for each in modules for place in _places(each) if place)]  # noqa: SLF001  # as below
        self._held = _held(self._places)
        self.of = {name: [*module.parameters()] for name, module in self._components.items()}
        """Parameters, by component."""
        buffers = [each for module in self._components.values() for each in module.buffers()]
        self._buffer_places = [each._buffers for each in modules if each._buffers]  # noqa: SLF001  # as below
        self._held_buffers = _held(self._buffer_places)
        self.all: list[Tensor] = [*{id(each): each for each in chain(*self.of.values(), buffers)}.values()]
        """Parameters and buffers, each once."""
        self._looked += 1
        learning = [each for those in self.of.values() for each in those if each.requires_grad]
        self.are_small = sum(each.numel() for each in learning) <= MOST_COPIED and _are_alike(learning)
        """Their gradients may be copied side by side."""

    def are_others(self) -> bool:
        """Whether a module, parameter or buffer is not the one that was there when they were listed."""
        return _differ(_held(self._places), self._held)

    def version(self) -> tuple[int, int]:
        """What is another when one of those listed was written to, or they are others: torch counts each one's writes
        up."""
        if _differ(_held(self._buffer_places), self._held_buffers):  # a pass may put a new one in the old one's place
            self.look()
        return self._looked, sum(writes_to(self.all))

    def is_elsewhere(self) -> bool:
        """Whether one of them is on another device than the CPU."""
        return not all(map(_IS_CPU, self.all))


def writes_to(tensors: Collection[Tensor]) -> list[int]:
    """How often each was written to; torch counts for all but those made in inference mode."""
    try:
        return [*map(WRITES, tensors)]
    except RuntimeError:
        return [0 if one.is_inference() else one._version for one in tensors]  # noqa: SLF001  # torch's own count


def _are_alike(tensors: Iterable[Tensor]) -> bool:
    kinds = {(each.is_cpu, each.dtype) for each in tensors}
    return kinds <= {(True, torch.float32)} or kinds <= {(True, torch.float64)}


def _places(module: nn.Module) -> tuple[dict[str, Any], ...]:  # as torch has them
    """Where a module holds what it is made of."""
    return module._modules, module._parameters, module._buffers  # noqa: SLF001  # torch tells of them one by one


def _held(places: Iterable[dict[str, Any]]) -> list[Any]:  # modules, tensors, or none
    return [*chain.from_iterable(map(_HELD, places))]


def _differ(now: list[Any], then: list[Any]) -> bool:
    return len(now) != len(then) or not all(map(is_, now, then))
