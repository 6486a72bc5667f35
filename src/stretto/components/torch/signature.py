"""A module's `forward` read as a component: which parameters carry gradients, which are read only, what comes out."""

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Final

from torch import nn

from stretto.components.codes import ComponentCode
from stretto.components.python.adapter import HintError
from stretto.components.python.hints import Convert, codec_of
from stretto.components.python.parameters import hints_of, parameters_of
from stretto.components.python.place import refuse
from stretto.components.torch.options import TorchOptions
from stretto.components.torch.shape import OneOf, Shape, Spelt, Tensorial
from stretto.types.json import Json, JsonObject, Schema

RESULT: Final = "result"
"""Output field of a module that returns one tensor without a name."""

REFERENCE: Final = "reference"
"""Parameter of a reward that receives the run's gold answers; no field of a request."""

PROBABILITIES: Final = "_probabilities"
"""Ending of the output field with the probabilities of a choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorField:
    """A parameter that is a tensor."""

    name: str
    what: Tensorial
    carries: bool
    """A gradient."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonField:
    """A parameter that is a list of B JSON values."""

    name: str
    schema: JsonObject
    convert: Convert | None
    """Makes of each value what its hint says; None where that is JSON."""


@dataclass(frozen=True, kw_only=True)
class TorchSignature:
    """What a module takes and returns, beside the batch."""

    tensors: tuple[TensorField, ...]
    plain: tuple[JsonField, ...]
    takes_reference: bool
    outputs: Mapping[str, Shape]
    """Without those of choices."""
    chooses: Mapping[str, tuple[str, ...]]
    """Choice → its alternatives; the module returns their logits under this name."""
    rewards: tuple[str, ...]
    """Outputs that are terms of the run's reward."""

    @cached_property
    def shapes(self) -> dict[str, Shape]:
        """Of everything that the module returns: of choices, those of their logits."""
        logits = {name: Shape(len(alternatives)) for name, alternatives in self.chooses.items()}
        return {**self.outputs, **logits}

    @cached_property
    def texts(self) -> dict[str, Spelt]:
        """Outputs that are tokens and in JSON their text."""
        return {name: shape for name, shape in self.outputs.items() if isinstance(shape, Spelt)}

    @property
    def input(self) -> Schema:
        """The request's schema."""
        properties: JsonObject = {each.name: each.what.schema for each in self.tensors}
        properties |= {each.name: each.schema for each in self.plain}
        required: list[Json] = [
            each.name for each in self.tensors if isinstance(each.what, OneOf) or each.what.absent is None
        ]
        required += [each.name for each in self.plain]
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}

    @property
    def output(self) -> Schema:
        """The response's schema."""
        properties: JsonObject = {name: shape.schema for name, shape in self.outputs.items()}
        properties |= {name: {"type": ["number", "null"]} for name in self.rewards}
        for name, alternatives in self.chooses.items():
            properties[name] = OneOf(*alternatives).schema
            properties[name + PROBABILITIES] = Shape(len(alternatives)).schema
        required: list[Json] = [*properties]
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def read_torch_signature(target: Any, options: TorchOptions) -> TorchSignature:
    """Read the hints of a function, or of the `forward` of a class or instance.

    Raises SpecError, at its place, for a parameter that nobody fills, a tensor without a Shape, and an integer tensor
    that is said to carry a gradient.
    """
    function, is_method = forward_of(target)
    shown = target if is_method and isinstance(target, type) else function
    parameters = parameters_of(function, shown, is_method=is_method)
    hints = hints_of(function, shown)
    _hold_names(parameters, options, shown)
    tensors = [_tensor(name, hints.get(name), options.inputs[name], shown, carries=True) for name in options.inputs]
    plain = []
    for name in options.context:
        if name == REFERENCE and options.rewards:
            continue
        found = _tensorial(hints.get(name))
        if found is not None:
            tensors.append(_tensor(name, hints.get(name), None, shown, carries=False))
        else:
            plain.append(_plain(name, hints.get(name), shown))
    outputs = _outputs(hints.get("return"), options, shown)
    _hold_apart(outputs, options, shown)
    return TorchSignature(
        tensors=tuple(tensors),
        plain=tuple(plain),
        takes_reference=bool(options.rewards) and REFERENCE in options.context,
        outputs=outputs,
        chooses=options.chooses,
        rewards=options.rewards,
    )


def forward_of(target: Any) -> tuple[Callable[..., Any], bool]:
    """What is called, and whether it is a method: `forward` of modules, the function itself otherwise."""
    if isinstance(target, type):
        return target.forward, True  # type: ignore[attr-defined]  # the decorator held it to be a module
    if isinstance(target, nn.Module):
        return type(target).forward, True
    return target, False


def _hold_names(parameters: Mapping[str, inspect.Parameter], options: TorchOptions, shown: object) -> None:
    """Every parameter is filled, and every field has one."""
    named = [*options.inputs, *options.context]
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    if unknown := [name for name in named if name not in parameters and not takes_any]:
        raise refuse(
            shown,
            ComponentCode.SIGNATURE,
            f"`forward` has no parameter {unknown[0]!r}, which `differentiable` names",
            expected=f"some of {', '.join(parameters)}",
        )
    needed = [n for n, p in parameters.items() if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    if unfilled := [name for name in needed if name not in named]:
        raise refuse(
            shown,
            ComponentCode.SIGNATURE,
            f"nobody says what fills the parameter {unfilled[0]!r}",
            expected="each parameter among `inputs`, which carry gradients, or `context`, which is read only",
            suggestion=f'context=["{unfilled[0]}"]',
        )


def _tensorial(hint: Any) -> Tensorial | None:
    if typing.get_origin(hint) is not Annotated:
        return None
    return next((note for note in typing.get_args(hint)[1:] if isinstance(note, Shape | OneOf)), None)


def _tensor(name: str, hint: Any, declared: Tensorial | None, shown: object, *, carries: bool) -> TensorField:
    what = declared or _tensorial(hint)
    if what is None:
        raise refuse(
            shown,
            ComponentCode.HINT,
            f"the input {name!r} has no shape, so JSON cannot say it",
            expected="a hint such as Annotated[Tensor, Shape(6, 4)]: the dimensions of one row, none for a number",
            suggestion=f"{name}: Annotated[Tensor, Shape(4)]",
        )
    if carries and isinstance(what, Shape) and not what.dtype.is_real:
        raise refuse(
            shown,
            ComponentCode.HINT,
            f"the input {name!r} is said to carry a gradient, and is of integers ({what.dtype}), which none passes",
            expected="a real element type, or the parameter among `context`",
            suggestion=f'context=["{name}"]',
        )
    return TensorField(name=name, what=what, carries=carries)


def _plain(name: str, hint: Any, shown: object) -> JsonField:
    """A parameter that is a list of one JSON value a row."""
    if hint is None or hint is list:
        return JsonField(name=name, schema={}, convert=None)
    if typing.get_origin(hint) is not list:
        raise refuse(
            shown,
            ComponentCode.HINT,
            f"the context {name!r} has the hint {hint}, and is given one value a row",
            expected="list[...] of what one row holds, or Annotated[Tensor, Shape(...)]",
            suggestion=f"{name}: list[str]",
        )
    try:
        codec = codec_of(typing.get_args(hint)[0])
    except (HintError, NameError) as error:
        message = f"the hint of the context {name!r} has no JSON form: {error}"
        raise refuse(shown, ComponentCode.HINT, message, expected="list[...] of JSON types") from error
    return JsonField(name=name, schema=codec.schema, convert=codec.convert)


def _outputs(hint: Any, options: TorchOptions, shown: object) -> Mapping[str, Shape]:
    """Names and shapes of what comes out, but for choices: as declared, or as the return hint says."""
    hinted = _hinted(hint, options, shown)
    if options.outputs and hinted:
        raise refuse(
            shown,
            ComponentCode.OPTION,
            "`outputs` and the return hint both say what comes out",
            expected="one of the two",
            suggestion="remove `outputs`",
        )
    found = options.outputs or hinted
    if not found and not options.chooses:
        raise refuse(
            shown,
            ComponentCode.HINT,
            "nothing says what it returns",
            expected="-> Annotated[Tensor, Shape(...)], a TypedDict of such, or `outputs` in `differentiable`",
            suggestion="outputs={'score': Shape()}",
        )
    _hold_rewards(found, options, shown)
    return found


def _hold_rewards(outputs: Mapping[str, Shape], options: TorchOptions, shown: object) -> None:
    """Each is one number a row of what comes out."""
    for name in options.rewards:
        if outputs.get(name, Shape(1)).dims:
            raise refuse(
                shown,
                ComponentCode.OPTION,
                f"the reward {name!r} is {'no output' if name not in outputs else repr(outputs[name])}",
                expected="an output of Shape(): one number a row",
            )


def _hold_apart(outputs: Mapping[str, Shape], options: TorchOptions, shown: object) -> None:
    """No two things come out by one name: of a choice, its probabilities come out too."""
    taken = [*outputs, *options.chooses, *(name + PROBABILITIES for name in options.chooses)]
    twice = next((name for name in taken if taken.count(name) > 1), None)
    if twice is not None:
        raise refuse(
            shown,
            ComponentCode.OPTION,
            f"two outputs are called {twice!r}; a choice comes out as its name, and its probabilities as that and "
            f"{PROBABILITIES!r}",
            expected="outputs and choices of other names",
        )


def _hinted(hint: Any, options: TorchOptions, shown: object) -> dict[str, Shape]:
    if typing.is_typeddict(hint):
        fields = typing.get_type_hints(hint, include_extras=True)
        found = {name: _tensorial(field) for name, field in fields.items() if name not in options.chooses}
        unshaped = [name for name, shape in found.items() if not isinstance(shape, Shape)]
        if unshaped:
            message = f"the output {unshaped[0]!r} has no shape, so JSON cannot say it"
            raise refuse(shown, ComponentCode.HINT, message, expected="a hint such as Annotated[Tensor, Shape(6, 4)]")
        return {name: shape for name, shape in found.items() if isinstance(shape, Shape)}
    one = _tensorial(hint)
    if not isinstance(one, Shape) or len(options.chooses) == 1:
        return {}
    return {options.rewards[0] if len(options.rewards) == 1 else RESULT: one}
