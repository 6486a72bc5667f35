"""What a probe is, and the error of one that cannot tell."""

from collections.abc import Mapping
from typing import Protocol, TypeAlias

from stretto.types.json import Json
from stretto.types.resources import Measure

Reading: TypeAlias = Mapping[str, Json]
"""Values by name; what is missing, and None, is nothing that the machine has."""


class ProbeError(Exception):
    """A probe cannot tell anything now: why, in words."""


class Probe(Protocol):
    """Reads values. May raise anything, and take as long as it likes: whoever asks is prepared for both."""

    @property
    def measures(self) -> Mapping[str, Measure | None]:
        """Every name that it gives, with what its values must be; None where that is no single number."""
        ...

    async def read(self) -> Reading:
        """The values as they are now. One reading at a time."""
        ...

    async def close(self) -> None:
        """Let go of what it holds; it may be read again afterwards."""
        ...


def by_name(measures: tuple[Measure, ...]) -> dict[str, Measure | None]:
    """A table of measures as a probe gives it."""
    return {each.name: each for each in measures}
