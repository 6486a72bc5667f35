"""`@differentiable`: declares a PyTorch module or function as a component, and leaves it as it is for all others."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from stretto.components.codes import ComponentCode
from stretto.components.python.decorator import MARK
from stretto.components.python.place import refuse
from stretto.components.torch.extra import need_torch
from stretto.components.torch.options import Inputs, Outputs, read_options

need_torch("`stretto.differentiable`")

T = TypeVar("T", bound=Callable[..., Any])


def differentiable(
    name: str | None = None,
    version: str = "0.0.0",
    *,
    inputs: Inputs = (),
    context: Sequence[str] = (),
    outputs: Outputs | None = None,
    chooses: Mapping[str, Sequence[str]] | None = None,
    rewards: Sequence[str] = (),
    sample: bool = True,
    checkpoint: str | Path | None = None,
    seed: int = 0,
    inline: bool = False,
    description: str = "",
) -> Callable[[T], T]:
    """Declare an ``nn.Module`` (class or instance) or a function of tensors as a component that gradients pass.

    `forward` is always given a batch. `inputs` are its parameters that carry gradients: float tensors ``[B, *shape]``,
    whose hint ``Annotated[Tensor, Shape(...)]`` gives them a JSON form, or choices of others as one-hot ``[B, A]``
    (`OneOf`). `context` is read only: a list of one JSON value a row, or an integer tensor. It returns a tensor or a
    dict of them; what they are, its hint says or `outputs`. Where it `chooses`, it returns logits ``[B, A]`` under the
    choice's name; the draw is made here, by the run's seed and the step's path, and recorded as an action. `rewards`
    names outputs that are terms of the run's reward, NaN where one is not known; such a component may take `reference`,
    the gold answers.

    Raises SpecError for an unusable name or option; what only the hints show is told when the file is loaded.
    """

    def declare(target: T) -> T:
        from stretto.components.torch.component import TorchComponent  # with torch, which is heavy, and here by now

        _hold_target(target)
        options = read_options(
            target,
            name=name,
            version=version,
            inputs=inputs,
            context=context,
            outputs=outputs,
            chooses=chooses or {},
            rewards=rewards,
            sample=sample,
            checkpoint=checkpoint,
            seed=seed,
            inline=inline,
            description=description,
        )
        setattr(target, MARK, TorchComponent(target, options))
        return target

    return declare


def _hold_target(target: object) -> None:
    """Raise SpecError for what is neither a module nor a function."""
    from torch import nn  # as above: the target is made of it

    is_module = isinstance(target, nn.Module) or (isinstance(target, type) and issubclass(target, nn.Module))
    if not is_module and not (callable(target) and hasattr(target, "__code__")):
        raise refuse(
            target,
            ComponentCode.SIGNATURE,
            f"a differentiable component is a module or a function, and this is {type(target).__name__}",
            expected="a class or instance of torch.nn.Module, or a function of tensors",
        )
