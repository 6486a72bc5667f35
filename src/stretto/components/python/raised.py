"""What an exception out of a user's function means, and where it was raised."""

from pathlib import Path
from types import TracebackType
from typing import Final

from stretto.record.texts import RAISED, log_raised, text_of
from stretto.types.errors import Code, ComponentError

_PROGRAMMING: Final = (
    TypeError,
    ValueError,
    KeyError,
    IndexError,
    AttributeError,
    NameError,
    ZeroDivisionError,
    AssertionError,
    NotImplementedError,
    RecursionError,
)
"""Mistakes in the code: the same request meets them again, so a retry only costs."""


def code_of(error: BaseException) -> Code:
    """The google.rpc code that says what the exception means for a caller.

    None of these says that nothing happened: a write that ends so is in doubt.
    """
    if isinstance(error, TimeoutError):  # before OSError, which it is
        return Code.DEADLINE_EXCEEDED
    if isinstance(error, OSError):
        return Code.UNAVAILABLE
    if isinstance(error, (*_PROGRAMMING, SystemExit, MemoryError)):
        return Code.INTERNAL
    return Code.UNKNOWN


def component_error(name: str, error: BaseException, home: str, queue_ms: float = 0.0) -> ComponentError:
    """The error as the engine takes it: who raised, what, the nearest place in the file `home`, and how long the call
    had waited for a thread."""
    log_raised(name, error)
    place = place_of(error.__traceback__, home)
    return ComponentError(
        f"component '{name}' raised {type(error).__name__}: {text_of(error)} ({place})",
        code_of(error),
        queue_ms=queue_ms,
    )


def note_raised(name: str, error: Exception, home: str, step: str) -> None:
    """Add to an error that goes on as it is who raised it, and where."""
    error.add_note(f"{RAISED}{name}' raised it at step '{step}' ({place_of(error.__traceback__, home)}).")


def place_of(traceback: TracebackType | None, home: str) -> str:
    """``components.py:32`` of the innermost frame in the user's file, or of the innermost at all when none is.

    Without the file's folder: what is recorded travels, and says nothing of the machine.
    """
    innermost = own = "no place"
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        innermost = f"{Path(file).name}:{traceback.tb_lineno}"
        if file == home:
            own = innermost
        traceback = traceback.tb_next
    return innermost if own == "no place" else own
