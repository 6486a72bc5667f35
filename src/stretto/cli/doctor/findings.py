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
