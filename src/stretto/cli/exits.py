"""What a command's exit code says."""

from enum import IntEnum

from stretto.types.errors import InputError, SpecError, StrettoError, UsageError


class Exit(IntEnum):
    """Exit codes; the last two are those a shell reports for the signals."""

    OK = 0
    FAILED = 1
    """The check or the run failed, or the store or stdout cannot be written or read."""
    USAGE = 2
    """A flag, a name, an input or a file is wrong; nothing was run."""
    INTERRUPTED = 130
    """Ctrl-C: 128 + SIGINT."""
    BROKEN_PIPE = 141
    """Whoever read the results went away: 128 + SIGPIPE."""


def exit_of(error: StrettoError) -> Exit:
    """The code for an error that ended a command."""
    return Exit.USAGE if isinstance(error, SpecError | UsageError | InputError) else Exit.FAILED
