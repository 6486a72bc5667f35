"""Places in the order of what was told, for backends that do not number it themselves."""

import time
import uuid
from typing import Final

_NAMESPACE: Final = uuid.UUID("8f7a2c1e-5d0b-4b1c-9a53-6f0d6f2b7c11")
"""Of ids that are made here: an arbitrary constant."""


class Places:
    """Microseconds since the epoch, each later than the one before. A double holds them exactly until the year 2255.

    Processes agree on the order as far as their clocks do.
    """

    def __init__(self) -> None:
        self._last = 0

    def next(self) -> int:
        """A place after all that were given."""
        self._last = max(self._last + 1, time.time_ns() // 1000)
        return self._last


def id_of(kind: str, effect_key: str) -> str:
    """The same id for the same key, as a UUID: so a value that is sent twice is there once."""
    return str(uuid.uuid5(_NAMESPACE, f"{kind} {effect_key}"))
