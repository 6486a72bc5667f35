"""A mapping that, asked for a name it has not, says which it has."""

from collections.abc import Mapping
from typing import NoReturn, TypeVar

from stretto.spec.suggest import nearest
from stretto.types.errors import UsageError

T = TypeVar("T")


class ByName(dict[str, T]):
    """What stands under names, with UsageError and the nearest where `[name]` finds nothing; `get` gives None."""

    def __init__(self, what: str, found: Mapping[str, T]) -> None:
        """`what` says in a sentence what has no such name: ``workflow 'desk' has no protected component``."""
        super().__init__(found)
        self._what = what

    def __missing__(self, name: str) -> NoReturn:
        near = nearest(name, self) if isinstance(name, str) else None
        known = f"did you mean '{near}'?" if near else f"there are: {', '.join(self) or 'none'}"
        raise UsageError(f"{self._what} {name!r}; {known}")
