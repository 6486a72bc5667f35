"""Which fields of a class that pulls gradients back are tensors, as the class tells."""

from collections.abc import Mapping
from typing import Any, Final

from stretto.components.codes import ComponentCode
from stretto.components.python.place import refuse
from stretto.components.torch.shape import Shape
from stretto.types.card import Tensor, Tensors
from stretto.types.errors import SpecError

VJP: Final = "vjp"
INPUTS: Final = "vjp_inputs"
OUTPUTS: Final = "vjp_outputs"


def tensors_of(target: object) -> Tensors | None:
    """The tensors that a class tells of: its `vjp_inputs` and `vjp_outputs`, name → Shape; None where it tells none.

    Raises SpecError for one of the two alone, without `vjp`, and for what has no gradient.
    """
    told = {each: vars(target).get(each) for each in (INPUTS, OUTPUTS)} if isinstance(target, type) else {}
    given = [each for each, fields in told.items() if fields is not None]
    if not given:
        return None
    if len(given) == 1 or not callable(getattr(target, VJP, None)):
        lacks = f"no `{VJP}`" if len(given) > 1 else f"no `{INPUTS if given == [OUTPUTS] else OUTPUTS}`"
        raise _unfit(target, f"'{_name(target)}' has `{given[0]}` and {lacks}")
    return Tensors(inputs=_fields(target, INPUTS, told[INPUTS]), outputs=_fields(target, OUTPUTS, told[OUTPUTS]))


def _fields(target: object, which: str, told: Any) -> tuple[Tensor, ...]:
    if not isinstance(told, Mapping) or not told:
        raise _unfit(target, f"`{which}` of '{_name(target)}' is {told!r:.80}")
    for name, shape in told.items():
        if not isinstance(shape, Shape) or not shape.dtype.is_real or not isinstance(name, str):
            raise _unfit(target, f"`{which}` of '{_name(target)}' says of {name!r} {shape!r:.80}")
    return tuple(shape.field(name) for name, shape in told.items())


def _unfit(target: object, message: str) -> SpecError:
    return refuse(
        target,
        ComponentCode.OPTION,
        message,
        expected=f"`{VJP}`, and in `{INPUTS}` and `{OUTPUTS}` a Shape of real numbers by the name of each field",
        suggestion=f'{INPUTS} = {{"state": stretto.Shape(4)}}',
    )


def _name(target: object) -> str:
    return getattr(target, "__name__", type(target).__name__)
