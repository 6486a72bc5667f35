"""What a backward pass left in the parameters, component by component."""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain, islice
from typing import Final, TypeAlias

import torch
from torch import Tensor, nn
from torch._utils import _flatten_dense_tensors
from torch.autograd.graph import _engine_run_backward

MOST_COPIED: Final = 100_000
"""Numbers in gradients that are copied side by side and looked at as one, which takes half the time of a look at each
tensor where these are small. Beyond it a look at each is nothing beside the pass."""

Parameters: TypeAlias = Mapping[str, Sequence[nn.Parameter]]
"""Of each component."""

UNBIASED: Final[Mapping[str, str]] = {}
"""No step whose gradient is that of a surrogate."""


def go_back(parts: Iterable[tuple[Tensor, Tensor]]) -> None:
    """Add to the parameters the vector-Jacobian products of tensors, each with the gradient that it is given."""
    tensors, gradients = zip(*parts, strict=True)
    # as `torch.autograd.backward` does after it has looked at the shapes, for longer than a small module takes
    _engine_run_backward(tensors, gradients, False, False, (), allow_unreachable=True, accumulate_grad=True)


class Left:
    """The gradients that stand in the parameters of components after a pass: whether they are numbers, and how large.

    `copies` lets it look at a copy of all, side by side: they are of one type, and few.
    """

    def __init__(self, parameters: Parameters, *, copies: bool) -> None:
        self._parameters = parameters
        self._grads = [each.grad for those in parameters.values() for each in those]
        found = [grad for grad in self._grads if grad is not None]
        self._flat = _side_by_side(found) if copies else None
        if self._flat is None:
            self.norms(), self.unreached()  # of the gradients as they are now, which are large, and not kept
            self._grads = []

    def are_numbers(self) -> bool:
        """All of them."""
        flat = self._flat
        if flat is not None and math.isfinite(flat.dot(flat).item()):
            return True
        return not self.wrong()  # of large numbers the square may be none

    def wrong(self) -> list[str]:
        """Components whose gradient is no number."""
        return [name for name, norm in self.norms().items() if not math.isfinite(norm)]

    def norms(self) -> Mapping[str, float]:
        """Euclidean, of each component's gradient."""
        return self._norms

    def unreached(self) -> tuple[str, ...]:
        """Components with parameters that take a gradient, none of which has one."""
        return self._unreached

    @cached_property
    def _unreached(self) -> tuple[str, ...]:
        without = [name for name, those in self._by_component.items() if not those]
        return tuple(name for name in without if any(each.requires_grad for each in self._parameters[name]))

    @cached_property
    def _norms(self) -> dict[str, float]:
        if self._flat is None:
            return _norms_of(self._by_component)
        sizes = [sum(grad.numel() for grad in those) for those in self._by_component.values()]
        parts = torch.split(self._flat, sizes)
        return _norms_of({name: [part] for name, part in zip(self._by_component, parts, strict=True)})

    @property
    def _by_component(self) -> dict[str, list[Tensor]]:
        grads = iter(self._grads)
        return {
            name: [grad for grad in islice(grads, len(those)) if grad is not None]
            for name, those in self._parameters.items()
        }


class Gradients:
    """Of one backward pass; of what it left, more than whether it is a number is told when asked for."""

    def __init__(
        self,
        left: Left | None,
        *,
        components: Iterable[str] = (),
        biased: Mapping[str, str] = UNBIASED,
        skipped: str = "",
    ) -> None:
        """`components` have no gradient, where nothing is left."""
        self._left = left
        self._components = components
        self.biased = biased
        """Steps outside whose gradient is not their own but that of a surrogate, by step: its digest."""
        self.skipped = skipped
        """Why the update must be skipped, with component and step; empty when it need not."""

    @property
    def norms(self) -> Mapping[str, float]:
        """Component → Euclidean norm of its gradient, as the pass left it; 0 where none reached it."""
        return dict.fromkeys(self._components, 0.0) if self._left is None else self._left.norms()

    @property
    def unreached(self) -> tuple[str, ...]:
        """Components that were to learn and whose parameters no reward of the batch reaches."""
        return () if self._left is None else self._left.unreached()


def norms_of(parameters: Parameters) -> Mapping[str, float]:
    """Of each component's gradient, as it now stands."""
    return Left(parameters, copies=False).norms()


def _norms_of(grads: Mapping[str, Sequence[Tensor]]) -> dict[str, float]:
    norms = _norms([*chain.from_iterable(grads.values())])
    ends = accumulate(len(those) for those in grads.values())
    return {
        name: math.hypot(*norms[end - len(those) : end]) for (name, those), end in zip(grads.items(), ends, strict=True)
    }


def _side_by_side(grads: Sequence[Tensor]) -> Tensor | None:
    """A copy of all as one; None where there is none, as of sparse ones, or of complex ones."""
    if not grads or (len(grads) == 1 and grads[0].layout is not torch.strided):
        return None
    try:
        flat: Tensor = grads[0].flatten().clone() if len(grads) == 1 else _flatten_dense_tensors(grads)  # type: ignore[no-untyped-call]  # torch's own
    except RuntimeError:  # which is what torch says of sparse ones, and of two devices
        return None
    return None if flat.is_complex() else flat


def _norms(grads: Iterable[Tensor]) -> list[float]:
    tensors = [_numbers_of(grad) for grad in grads]
    if not tensors:
        return []
    # in float64 no square of a float32 overflows
    norms = torch._foreach_norm(tensors, 2, dtype=torch.float64)  # noqa: SLF001  # `get_total_norm` makes one of all
    if all(norm.is_cpu for norm in norms):
        found: list[float] = [norm.item() for norm in norms]
    else:
        found = torch.stack([norm.cpu() for norm in norms]).tolist()
    return [norm if 0.0 < norm < math.inf else _scaled_norm(each) for norm, each in zip(found, tensors, strict=True)]


def _scaled_norm(tensor: Tensor) -> float:
    """Where the squares of a float64 may overflow, or be too small to be told from 0."""
    most = float(tensor.abs().max()) if tensor.numel() else 0.0
    return most * float((tensor.double() / most).norm()) if 0.0 < most < math.inf else most


def _numbers_of(grad: Tensor) -> Tensor:
    """What a gradient is made of: the entries of a sparse one, both parts of complex ones."""
    if grad.layout is not torch.strided:
        grad = grad.coalesce().values() if grad.layout is torch.sparse_coo else grad.to_dense()
    return torch.view_as_real(grad.resolve_conj()) if grad.is_complex() else grad
