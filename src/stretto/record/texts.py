"""What an exception says, as a record can hold it: short, and text in UTF-8."""

import logging
from typing import Final

from stretto.types.errors import ComponentError

_log: Final = logging.getLogger(__name__)

RAISED: Final = "Component '"
"""How a note begins that says which component raised an error."""

TEXT_CHARS: Final = 2000
"""Of what an exception says: enough to mend what it tells of, and with it a message may still say who and where."""

MESSAGE_CHARS: Final = 4000
"""Of a message on the record, where it stands with the attempt, the step and the run: a row should stay small."""


def text_of(error: BaseException, limit: int = TEXT_CHARS) -> str:
    """What an exception says, as a record can hold it; an exception without a text says so."""
    try:
        text = str(error)
    except Exception as broken:  # noqa: BLE001  # a text that its own class cannot make hides no failure
        text = f"its text cannot be read, str() of it raised {type(broken).__name__}"
    return recordable(text, limit) or "no message"


def recordable(text: str, limit: int = MESSAGE_CHARS) -> str:
    """A text cut to a number of characters, with what UTF-8 cannot hold replaced by U+FFFD."""
    if len(text) > limit:
        text = f"{text[:limit]}… ({len(text) - limit:,} more characters)"
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def log_raised(name: str, error: BaseException) -> None:
    """Log at level DEBUG where a component's code raised; a record keeps what, and only the nearest place."""
    _log.debug("component '%s' raised, in full:", name, exc_info=error)


def as_raised(error: Exception) -> ComponentError | None:
    """An error of which it was noted that a component raised it, as one of ours; None for any other."""
    told = next((note for note in getattr(error, "__notes__", ()) if note.startswith(RAISED)), None)
    return None if told is None else ComponentError(f"{type(error).__name__}: {text_of(error)}\n  {told}")
