"""The attention heads of a module, and the gradient of a score by the output of each, before they are projected.

Found by hooks of torch; nothing of the module is changed. Shape letters: H heads, D the width of one.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import torch
from torch import Tensor, nn

from stretto.types.errors import UsageError

DECLARED: Final = "attention_heads"
"""Attribute of a module that says its heads: layer inside it that reads the outputs of all, side by side → how many."""

_QUERIES: Final = ("q_proj", "query", "q_lin", "c_attn", "query_key_value", "qkv_proj", "Wqkv")
_OUTPUTS: Final = ("o_proj", "out_proj", "c_proj", "out_lin", "dense")
"""As attention of `transformers` names what makes its queries, and what projects the outputs of its heads."""

_COUNTS: Final = ("num_attention_heads", "num_heads", "n_heads", "n_head")
"""Of the module, or of its `config`, where they stand."""

Place: TypeAlias = tuple[str, str]
"""Path of a step, and a layer's name in its module."""


@dataclass(frozen=True, slots=True)
class Heads:
    """Heads of one attention layer."""

    layer: str
    """Its name in the module; empty for the module itself."""
    count: int
    of: nn.Module = field(repr=False)
    """What is hooked: an `nn.MultiheadAttention`, or the layer that reads the heads' outputs."""
    share: int = 1
    """Heads that share one key and value (grouped-query attention)."""
    step: str = ""
    """Path of the step whose module it is; empty for a module by itself."""

    @property
    def place(self) -> Place:
        """What tells it from all others of a run."""
        return self.step, self.layer


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadNorms:
    """Of one score, the norms of its gradient by each head's output."""

    by_place: dict[Place, list[float]]
    """One for each head, over all positions and all calls of the layer; without layers that were not called."""
    positions: int
    """The most that a layer read in one call, all rows together."""


def heads_in(module: nn.Module) -> list[Heads]:
    """All that can be found: `nn.MultiheadAttention`, attention as in `transformers`, and modules that declare theirs.

    Raises UsageError for a declaration that names no layer, or no number of heads.
    """
    found = []
    for name, each in module.named_modules():
        if isinstance(each, nn.MultiheadAttention):
            found.append(Heads(name, each.num_heads, each))
        elif hasattr(each, DECLARED):
            found += _declared(name, each)
        else:
            found += _transformers(name, each)
    return found


def _declared(name: str, module: nn.Module) -> Iterator[Heads]:
    said = getattr(module, DECLARED)
    layers = dict(module.named_modules())
    for inner, count in said.items() if isinstance(said, Mapping) else [(said, None)]:
        if inner not in layers or not isinstance(count, int) or count < 1:
            raise UsageError(
                f"{type(module).__name__}.{DECLARED} is {said!r}; expected a layer inside it that reads the heads' "
                "outputs side by side, and how many these are, as {'project': 8}"
            )
        yield Heads(f"{name}.{inner}" if name else inner, count, layers[inner])


def _transformers(name: str, module: nn.Module) -> Iterator[Heads]:
    children = dict(module.named_children())
    output = next((children[each] for each in _OUTPUTS if each in children), None)
    if output is None or not any(each in children for each in _QUERIES):
        return
    config = getattr(module, "config", None)
    counts = [getattr(each, key, None) for each in (module, config) for key in _COUNTS]
    count = next((each for each in counts if isinstance(each, int)), None)
    if count is not None:
        share = getattr(module, "num_key_value_groups", 1)
        yield Heads(name, count, output, share if isinstance(share, int) else 1)


def gradient_norms(found: Sequence[Heads], score: Callable[[], Tensor]) -> HeadNorms:
    """Compute a score, one number, and its gradient by what the heads come to."""
    added: dict[Place, list[Tensor]] = {}
    with ExitStack() as stack, torch.enable_grad():
        for each in found:
            stack.callback(_hooked(each, added.setdefault(each.place, [])).remove)
        value = score()
        zeros = [zero for each in found for zero in added[each.place]]
        slopes = iter(_slopes(value, zeros))
        by_place = {each.place: [next(slopes) for _ in added[each.place]] for each in found}
    return HeadNorms(
        by_place={each.place: _norms(each, by_place[each.place]) for each in found if by_place[each.place]},
        positions=max((zero.numel() // zero.shape[-1] for zero in zeros), default=1),
    )


def _slopes(value: Tensor, zeros: Sequence[Tensor]) -> Sequence[Tensor]:
    """Of a score that depends on none, zeros."""
    if not zeros or not value.requires_grad:
        return [torch.zeros_like(each) for each in zeros]
    return torch.autograd.grad(value, zeros, materialize_grads=True)


def _hooked(heads: Heads, added: list[Tensor]) -> Any:  # torch's handle
    """Add zeros to what the heads come to: the gradient by them is that by the outputs, also of frozen weights."""

    def plus_zeros(tensor: Tensor) -> Tensor:
        zero = torch.zeros_like(tensor, requires_grad=True)
        added.append(zero)
        return tensor + zero

    if isinstance(heads.of, nn.MultiheadAttention):
        return heads.of.register_forward_hook(lambda _, __, told: (plus_zeros(told[0]), *told[1:]))
    return heads.of.register_forward_pre_hook(lambda _, given: (plus_zeros(given[0]), *given[1:]))


def _norms(heads: Heads, slopes: list[Tensor]) -> list[float]:
    squares_H = torch.zeros(heads.count, dtype=torch.float64)
    for slope in slopes:
        before = slope @ heads.of.out_proj.weight if isinstance(heads.of, nn.MultiheadAttention) else slope
        squares_H += (
            before.double().reshape(-1, heads.count, before.shape[-1] // heads.count).square().sum((0, 2)).cpu()
        )
    norms: list[float] = squares_H.sqrt().tolist()
    return norms
