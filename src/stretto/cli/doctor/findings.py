"""What an examination found."""

from enum import StrEnum

import msgspec


class State(StrEnum):
    """How bad it is."""

    WELL = "well"
    NOTE = "note"
    """Neither well nor wrong: an extra that is not installed."""
    WRONG = "wrong"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing examined."""

    name: str
    state: State
    text: str
    remedy: str = ""
    """What to type or do."""
    count: int | None = None
    """Of what was lost or is stranded: anything but 0 is a loss. None where nothing is counted."""
