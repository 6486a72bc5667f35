"""What it means that a program ended as it did."""

import re
import signal
from collections.abc import Mapping
from typing import Final

from stretto.types.errors import Code, ComponentError

OK: Final = "ok"
"""In place of a code: the program answered, as with 0."""

STDERR_TAIL_BYTES: Final = 4096
"""Of what a program said last, kept while it runs."""

STDERR_TAIL_LINES: Final = 5
STDERR_LINE_CHARS: Final = 200
"""Of those, told with an error."""

_CRASHES: Final = frozenset(
    {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSYS, signal.SIGTRAP}
)
"""What a program's own mistake ends it with, and will again. Other signals come from elsewhere: the system short of
memory, an operator."""

_CONTROL: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def failure(name: str, code: int, stderr: bytes, exit_codes: Mapping[int, Code]) -> ComponentError:
    """The error of a program that ended otherwise than well: by exit code, or by a signal where it is below 0."""
    said = last_words(stderr)
    if code < 0:
        return ComponentError(f"program of '{name}' was ended by {signal_name(-code)}{said}", _of_signal(-code))
    known = exit_codes.get(code, Code.UNKNOWN)
    hint = f" ({signal_name(code - 128)} of what it ran)" if code > 128 and is_signal(code - 128) else ""
    return ComponentError(f"program of '{name}' ended with exit code {code}{hint}{said}", known)


def last_words(stderr: bytes) -> str:
    """What a program said last on standard error, for the end of a message, without what would steer a terminal."""
    text = _CONTROL.sub("", stderr.decode(errors="replace").replace("\r\n", "\n"))
    lines = [line.rstrip() for line in text.splitlines() if line.strip()][-STDERR_TAIL_LINES:]
    if not lines:
        return "; it said nothing on stderr"
    cut = [line if len(line) <= STDERR_LINE_CHARS else f"{line[:STDERR_LINE_CHARS]}..." for line in lines]
    return "; its last words on stderr:\n  " + "\n  ".join(cut)


def signal_name(number: int) -> str:
    """``SIGSEGV``, or the number where it has no name here."""
    return signal.Signals(number).name if is_signal(number) else f"signal {number}"


def is_signal(number: int) -> bool:
    """Whether the system has a signal of that number."""
    return number in {each.value for each in signal.Signals}


def _of_signal(number: int) -> Code:
    return Code.INTERNAL if is_signal(number) and signal.Signals(number) in _CRASHES else Code.UNAVAILABLE
