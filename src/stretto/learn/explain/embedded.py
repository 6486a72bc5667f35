"""What a module embeds: tokens have no gradient, and what they are embedded as has one.

Shape letters: N rows, T tokens, D the width of an embedding.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """One row of tokens, as one embedding layer saw it."""

    ids: tuple[int, ...]
    vectors: Tensor
    """[1, T, D]."""


def embedded(module: nn.Module, call: Callable[[], object]) -> dict[str, Embedded]:
    """Call the module with one row, and tell what each of its embedding layers was given, by the layer's name.

    Left out is a layer that saw anything but one row of tokens, or was called more than once: positions, for example.
    """
    calls: dict[str, list[Embedded]] = {}

    def heard(name: str, _: nn.Module, arguments: tuple[Any, ...], vectors: Tensor) -> None:
        ids = arguments[0]
        if ids.dim() == 2 and len(ids) == 1 and vectors.is_floating_point():
            made = Embedded(ids=tuple(ids[0].tolist()), vectors=vectors.detach())
            calls.setdefault(name, []).append(made)

    with ExitStack() as stack, torch.no_grad():
        for name, layer in _layers(module):
            stack.callback(layer.register_forward_hook(partial(heard, name)).remove)
        call()
    return {name: made[0] for name, made in calls.items() if len(made) == 1}


@contextmanager
def replaced(module: nn.Module, vectors: Mapping[str, Tensor]) -> Iterator[None]:
    """Let the layers of these names give these vectors, [N, T, D], whatever they are asked."""

    def given(name: str, *_: object) -> Tensor:
        return vectors[name]

    with ExitStack() as stack:
        for name, layer in _layers(module):
            if name in vectors:
                stack.callback(layer.register_forward_hook(partial(given, name)).remove)
        yield


def spelt(module: nn.Module, ids: Sequence[int]) -> list[str]:
    """Tokens for people, by the module's own ``spell(ids) -> list[str]`` where it has one; their numbers otherwise."""
    spell = getattr(module, "spell", None)
    words = [str(word) for word in spell(list(ids))] if callable(spell) else []
    return words if len(words) == len(ids) else [str(each) for each in ids]


def _layers(module: nn.Module) -> list[tuple[str, nn.Embedding]]:
    """Those that embed words: of the names in the module's own ``word_layers`` where it has that, else all."""
    named: Collection[str] | None = getattr(module, "word_layers", None)
    return [
        (name, layer)
        for name, layer in module.named_modules()
        if isinstance(layer, nn.Embedding) and (named is None or name in named)
    ]
