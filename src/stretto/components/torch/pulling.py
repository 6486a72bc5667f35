"""A module's vector-Jacobian product for one row, as who served it is asked for it from elsewhere."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor as TorchTensor

from stretto.acp import tensors
from stretto.components.torch import choices
from stretto.components.torch.shape import Shape
from stretto.components.torch.signature import PROBABILITIES, REFERENCE, TorchSignature
from stretto.components.torch.values import tensor_of
from stretto.types.card import Real, Tensor, Tensors
from stretto.types.errors import Code, ComponentError
from stretto.types.json import Json, JsonObject
from stretto.types.signals import Cotangents


def tensors_of(signature: TorchSignature) -> Tensors:
    """What of a module can be differentiated from elsewhere: float inputs that carry a gradient, with respect to which
    it is for float outputs and for the probabilities of choices."""
    inputs = [each.what.field(each.name) for each in signature.tensors if each.carries and isinstance(each.what, Shape)]
    outputs = [shape.field(name) for name, shape in signature.outputs.items() if shape.dtype.is_real]
    outputs += [
        Tensor(name=name + PROBABILITIES, shape=(len(names),), dtype=Real.F64)
        for name, names in signature.chooses.items()
    ]
    return Tensors(inputs=tuple(inputs), outputs=tuple(outputs))


class Asked:
    """What a gradient is asked for, as tensors of one row."""

    def __init__(self, name: str, told: Tensors, asked: Cotangents) -> None:
        """Raises ComponentError for bytes that are no tensors of the card, and where there is nothing to pull back."""
        self.inputs = self._read(name, "inputs", asked.inputs, told.inputs)
        self.cotangents = self._read(name, "cotangents", asked.cotangents, told.outputs)
        if not self.cotangents:
            raise _refused(name, "no cotangent is given, so there is nothing to pull back")
        if not self.inputs:
            raise _refused(
                name, "no input is given with respect to which to differentiate, and nothing is kept of a call"
            )

    @staticmethod
    def _read(name: str, what: str, content: bytes, declared: tuple[Tensor, ...]) -> dict[str, TorchTensor]:
        try:
            found = tensors.read(content, declared)
        except ValueError as error:
            raise _refused(name, f"`{what}` hold {error}") from error
        is_input = what == "inputs"
        return {key: torch.from_numpy(array.copy()).requires_grad_(is_input) for key, array in found.items()}


def fields_of(name: str, signature: TorchSignature, asked: Asked, rest: JsonObject, reference: Json) -> dict[str, Any]:
    """What the module is called with: the inputs asked for as leaves, the others as a call has them.

    Raises ComponentError for a field that is missing or unfit.
    """
    fields: dict[str, Any] = {}
    try:
        for each in signature.tensors:
            leaf = asked.inputs.get(each.name)
            fields[each.name] = tensor_of([rest.get(each.name)], each.what) if leaf is None else leaf.unsqueeze(0)
        for plain in signature.plain:
            value = rest[plain.name]
            fields[plain.name] = [value if plain.convert is None else plain.convert(value)]
    except (KeyError, ValueError, TypeError) as error:
        raise _refused(
            name, f"of the call's other fields, which `input` holds: {type(error).__name__}: {error}"
        ) from error
    if signature.takes_reference:
        fields[REFERENCE] = [reference]
    return fields


def pulled(outputs: Mapping[str, TorchTensor], asked: Asked) -> bytes:
    """The gradients of <cotangents, outputs> with respect to the inputs, which are leaves: zeros where none reaches."""
    total = torch.zeros((), dtype=torch.float64)
    for name, cotangent in asked.cotangents.items():
        total = total + (outputs[name][0] * cotangent).sum().double().cpu()
    leaves = [*asked.inputs.values()]
    found = torch.autograd.grad(total, leaves, allow_unused=True) if total.requires_grad else [None] * len(leaves)
    gradients = {
        name: (torch.zeros_like(leaf) if gradient is None else gradient).detach().cpu().numpy()
        for (name, leaf), gradient in zip(asked.inputs.items(), found, strict=True)
    }
    return tensors.written(gradients)


def outputs_of(signature: TorchSignature, found: Mapping[str, TorchTensor]) -> dict[str, TorchTensor]:
    """What a card tells of, from what a module returned."""
    told = {name: found[name] for name in signature.outputs}
    return told | {name + PROBABILITIES: choices.log_probabilities(found[name]).exp() for name in signature.chooses}


def _refused(name: str, why: str) -> ComponentError:
    return ComponentError(f"component '{name}' cannot be asked for a gradient so: {why}", Code.INVALID_ARGUMENT)
