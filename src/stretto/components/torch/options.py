"""What `@differentiable` may be told, checked where it stands."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from stretto.components.codes import ComponentCode
from stretto.components.names import NAME_RULE, is_component_name
from stretto.components.python.place import refuse
from stretto.components.torch.shape import OneOf, Shape, Tensorial, checked_alternatives
from stretto.types.errors import UsageError

Inputs: TypeAlias = Sequence[str] | Mapping[str, Tensorial]
"""Names, whose hints say what they are, or what each is."""

Outputs: TypeAlias = Shape | Mapping[str, Shape]

DEFAULT_OUTPUT: Final = "result"


class TorchOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Everything declared about a differentiable component beside its code and weights."""

    name: str
    version: str = "0.0.0"
    inputs: dict[str, Any] = msgspec.field(default_factory=dict)
    """Parameter that carries a gradient → its Shape or OneOf, None where the hint says."""
    context: tuple[str, ...] = ()
    """Parameters that are read only."""
    outputs: dict[str, Any] = msgspec.field(default_factory=dict)
    """Output → its Shape; empty where the return hint says."""
    chooses: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Output that is a discrete choice → its alternatives."""
    rewards: tuple[str, ...] = ()
    """Outputs that are terms of the run's reward."""
    sample: bool = True
    """Choices are drawn from their probabilities; False takes the likeliest."""
    checkpoint: str | None = None
    """Weights, a ``.safetensors`` file."""
    seed: int = 0
    """Of the first weights of a class: the same in every process."""
    inline: bool = False
    description: str = ""

    @property
    def described(self) -> dict[str, object]:
        """What the digest covers, as it would be written."""
        fields = msgspec.structs.asdict(self)
        del fields["checkpoint"]
        return {key: repr(value) for key, value in fields.items()}


def read_options(
    target: Any, *, name: str | None, inputs: Inputs, outputs: Outputs | None, **rest: Any
) -> TorchOptions:
    """Check what was declared.

    Raises SpecError at the module's place for a name that no file could use, a field named twice, alternatives that
    are none, or an option without effect.
    """
    called = name or getattr(target, "__name__", type(target).__name__)
    if not is_component_name(called):
        message = f"'{called}' cannot be the name of a component"
        raise refuse(target, ComponentCode.NAME, message, expected=NAME_RULE, suggestion='@differentiable("a-name")')
    checkpoint = rest.pop("checkpoint")
    chooses = {key: checked_alternatives(f"chooses[{key!r}]", names) for key, names in rest.pop("chooses").items()}
    try:
        options = msgspec.convert(
            {
                **rest,
                "name": called,
                "inputs": _by_name(inputs),
                "context": _names(rest["context"]),
                "rewards": _names(rest["rewards"]),
                "outputs": {DEFAULT_OUTPUT: outputs} if isinstance(outputs, Shape) else dict(outputs or {}),
                "chooses": chooses,
                "checkpoint": str(checkpoint) if isinstance(checkpoint, Path) else checkpoint,
            },
            TorchOptions,
        )
    except msgspec.ValidationError as error:
        message = f"component '{called}': {error}"
        raise refuse(target, ComponentCode.OPTION, message, expected="an option of the type that is told") from error
    _hold_fields(target, options)
    return options


def changed(options: TorchOptions, **values: Any) -> TorchOptions:
    """The same with other values."""
    return msgspec.structs.replace(options, **values)


def _by_name(inputs: Inputs) -> dict[str, Tensorial | None]:
    if isinstance(inputs, Mapping):
        return dict(inputs)
    return dict.fromkeys(_names(inputs))


def _names(names: Sequence[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise UsageError(f"{names!r} is one text where names are listed; write [{names!r}]")
    return tuple(names)


def _hold_fields(target: object, options: TorchOptions) -> None:
    twice = [name for name in options.inputs if name in options.context]
    if twice:
        raise refuse(
            target,
            ComponentCode.OPTION,
            f"{twice[0]!r} is among `inputs` and `context`",
            expected="each parameter in one: it carries a gradient, or it is read only",
        )
    for group, wanted in ((options.inputs, Shape | OneOf | None), (options.outputs, Shape)):
        wrong = [name for name, what in group.items() if not isinstance(what, wanted)]
        if wrong:
            message = f"{wrong[0]!r} is declared as {group[wrong[0]]!r}"
            raise refuse(target, ComponentCode.OPTION, message, expected="Shape(...), or OneOf(...) of an input")
    if not options.sample and not options.chooses:
        raise refuse(
            target,
            ComponentCode.OPTION,
            f"sample=False would have no effect: '{options.name}' chooses nothing",
            expected="sample of a component with `chooses`",
            suggestion="remove sample",
        )
