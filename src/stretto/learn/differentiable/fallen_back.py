"""What a fallback answered in place of a module. Shape letters: B rows, A alternatives."""

import torch

from stretto.components.torch.shape import DType, Shape
from stretto.components.torch.signature import PROBABILITIES, TorchSignature
from stretto.learn.differentiable.chosen import Choices
from stretto.learn.differentiable.columns import Column, Fields, Tensors
from stretto.learn.differentiable.fitting import fitted


def as_computed(answered: Column, signature: TorchSignature) -> Column:
    """It in the form of what modules compute: columns of tensors and of choices, null where nothing answered."""
    present = answered.present
    fields: dict[str, Column] = {}
    for name, shape in signature.outputs.items():
        if name in signature.texts:
            fields[name] = answered.below(name)
            continue
        rows = fitted(answered.below(name), Shape(*shape.dims, dtype=shape.dtype, absent=0), name)[0]
        fields[name] = Tensors(rows, present)
    for name, names in signature.chooses.items():
        chosen, told = answered.below(name).json, Shape(len(names), dtype=DType.FLOAT64, absent=0)
        p_BA = fitted(answered.below(name + PROBABILITIES), told, name)[0]
        chosen_B = torch.tensor([names.index(each) if each in names else 0 for each in chosen])
        fields[name] = Choices(names, chosen_B, p_BA.log(), present=present)
        fields[name + PROBABILITIES] = Tensors(p_BA, present)
    return Fields(fields, answered.size, present)
