"""Which fields of a component are tensors, between its card and the wire."""

from collections.abc import Iterable

from stretto.acp import messages as m
from stretto.types.card import Real, Tensor, Tensors


def told_of(tensors: Tensors | None) -> m.Tensors:
    """A card's tensors as they cross the wire."""
    if tensors is None:
        return m.Tensors()
    return m.Tensors(inputs=_told(tensors.inputs), outputs=_told(tensors.outputs))


def _told(tensors: Iterable[Tensor]) -> tuple[m.Tensor, ...]:
    return tuple(m.Tensor(name=each.name, shape=each.shape, dtype=each.dtype) for each in tensors)


def tensors_of(told: m.Tensors) -> Tensors | None:
    """What a card from elsewhere tells of its tensors; None where it tells nothing.

    Raises ValueError, in words, for what no card can hold.
    """
    if told == m.Tensors():
        return None
    return Tensors(inputs=_read("input", told.inputs), outputs=_read("output", told.outputs))


def _read(side: str, told: Iterable[m.Tensor]) -> tuple[Tensor, ...]:
    found: list[Tensor] = []
    for each in told:
        if not each.name or each.name in [other.name for other in found]:
            raise ValueError(f"an {side} tensor is called {each.name!r}; expected a name, each once")
        if each.dtype and each.dtype not in set(Real):
            raise ValueError(f"the {side} tensor {each.name!r} is of {each.dtype!r}; expected {' or '.join(Real)}")
        if any(size < 1 for size in each.shape):
            raise ValueError(
                f"the {side} tensor {each.name!r} has the shape {list(each.shape)}; expected sizes above 0"
            )
        found.append(Tensor(name=each.name, shape=tuple(each.shape), dtype=Real(each.dtype or Real.F32)))
    return tuple(found)
