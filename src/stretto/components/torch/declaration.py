"""What a declaration of kind ``torch`` may hold in a workflow file: a differentiable component, and its weights."""

from functools import partial
from pathlib import Path
from typing import Any, Final

from stretto.components.option_shapes import ANY_TEXT, FunctionName, FunctionShape, Make
from stretto.components.python.declaration import imported
from stretto.components.python.decorator import component_of
from stretto.components.torch.extra import need_torch
from stretto.spec.codes import SpecCode
from stretto.spec.records import Fields, Key, Record
from stretto.spec.shapes import Flag
from stretto.types.errors import SpecError
from stretto.types.protocols import Component

TARGET: Final = Key(
    "target",
    FunctionShape(),
    means="the module or function under @stretto.differentiable: module:name, beside this file or installed",
    example="target: risk.models:Router",
    required=True,
    also=("module", "class", "function"),
)
CHECKPOINT: Final = Key(
    "checkpoint",
    ANY_TEXT,
    means="weights that training wrote, relative to this file",
    example="checkpoint: router.safetensors",
    also=("weights",),
)
SAMPLE: Final = Key(
    "sample", Flag(), means="draw choices from their probabilities, or take the likeliest", example="sample: false"
)


def _build(fields: Fields) -> Make | None:
    target = fields.get(TARGET)
    checkpoint, sample = fields.get(CHECKPOINT), fields.get(SAMPLE)
    options = {} if sample is None else {"sample": sample}
    return None if target is None else partial(_make, target, None if checkpoint is None else checkpoint.value, options)


def _make(target: FunctionName, checkpoint: str | None, options: dict[str, Any], name: str, folder: Path) -> Component:
    need_torch(f"component '{name}' of kind torch")
    declared = component_of(imported(target, folder))

    from stretto.components.torch.component import TorchComponent  # with torch, which its target has imported by now

    span = target.located.span
    if not isinstance(declared, TorchComponent):
        message = f"'{target.located.value}' is not under @stretto.differentiable, which says what carries gradients"
        raise SpecError([span.problem(SpecCode.CONFLICT, message, expected="a differentiable module or function")])
    if "sample" in options and not declared.options.chooses:
        message = f"`sample` has no effect: '{target.located.value}' chooses nothing"
        raise SpecError([span.problem(SpecCode.NO_EFFECT, message, suggestion="remove `sample`")])
    if checkpoint is not None:
        options = {**options, "checkpoint": str(folder / checkpoint)}
    return declared.declared_as(name, options)


TORCH: Final[Record[Make]] = Record(
    "torch-component",
    means="A differentiable PyTorch module or function.",
    keys=(TARGET, CHECKPOINT, SAMPLE),
    build=_build,
)
