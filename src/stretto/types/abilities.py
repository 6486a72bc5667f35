"""Classes with the abilities of something else: each is a mixin, and `isinstance` tells which are there."""

from collections.abc import Iterable
from typing import TypeVar, cast

T = TypeVar("T")


def with_abilities(base: type[T], abilities: Iterable[tuple[type, bool]]) -> type[T]:
    """A class as `base` that has also those abilities that hold, and is not taken for more; `base` where none does."""
    held = tuple(ability for ability, holds in abilities if holds)
    return cast("type[T]", type(base.__name__, (*held, base), {})) if held else base
