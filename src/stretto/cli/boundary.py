"""The outermost edge: runs the command that was typed and turns whatever happens into an exit code and words."""

import logging
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NoReturn, cast

import typer
from rich.text import Text

from stretto import __version__
from stretto.cli.app import app
from stretto.cli.errors import error_document, error_text
from stretto.cli.exits import Exit, exit_of
from stretto.cli.interrupted import tell_interrupted
from stretto.cli.streams import ResultLostError, silence_stdout, take_streams
from stretto.cli.terminal import note, notes, print_json
from stretto.record.texts import as_raised
from stretto.spec.source import printable
from stretto.types.errors import ComponentError, StrettoError, UsageError

DEBUG_VARIABLE: Final = "STRETTO_DEBUG"
"""Environment variable that asks for tracebacks: of a bug, and of what a component raised."""

_WRONG_USAGE: Final = cast("tuple[type[Exception], ...]", typer.BadParameter.__bases__)
"""click's UsageError is what its parser raises: the base of BadParameter. Newer typer vendors click privately."""


def run_process() -> NoReturn:
    """Run the command of this process and exit with its code."""
    take_streams()
    code = execute(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = _leave_quietly()
    except ResultLostError as error:
        code = _tell_lost(error)
    if code == Exit.INTERRUPTED:
        _end_in_silence()
    sys.exit(code)


def execute(arguments: Sequence[str]) -> int:
    """Run a command; returns its exit code, whatever happens."""
    as_json = "--json" in arguments
    try:
        with _details_told():
            return _invoke(arguments)
    except StrettoError as error:
        return _tell(error, as_json=as_json)
    except KeyboardInterrupt:
        return tell_interrupted("stopped by Ctrl-C", as_json=as_json)
    except BrokenPipeError:
        return _leave_quietly()
    except ResultLostError as error:
        return _tell_lost(error)
    except Exception as error:  # noqa: BLE001  # the boundary: whatever is not ours is told as a bug
        leaf = _known(_first_of(error))
        return _tell(leaf, as_json=as_json) if isinstance(leaf, StrettoError) else _tell_bug(error, as_json=as_json)


class _Notes(logging.Handler):
    """Shows what is logged as notes; a traceback keeps its lines as they are."""

    def emit(self, record: logging.LogRecord) -> None:
        notes().print(Text(printable(self.format(record))), soft_wrap=True)


@contextmanager
def _details_told() -> Iterator[None]:
    """Show what stretto logs, down to the tracebacks of components, when that is asked for."""
    if not os.environ.get(DEBUG_VARIABLE):
        yield
        return
    log, handler = logging.getLogger("stretto"), _Notes()
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        log.setLevel(level)
        log.removeHandler(handler)


def _invoke(arguments: Sequence[str]) -> int:
    """Parse and run. Verbs return their exit code, or nothing when all is well."""
    command = typer.main.get_command(app)
    try:
        with command.make_context("stretto", list(arguments)) as context:
            return int(command.invoke(context) or Exit.OK)
    except typer.Exit as done:
        return done.exit_code
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    except _WRONG_USAGE as error:
        return _tell_usage(error, as_json="--json" in arguments)


def _first_of(error: Exception) -> Exception:
    """The first single error inside groups, which many runs at once wrap it in."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def _known(error: Exception) -> Exception:
    """The error in our words, when what Python raised is not of our making."""
    if _stopped_the_loop(error):
        return ComponentError(
            "a component stopped the event loop that it was run in, so what was going on was cut short; "
            "look for loop.stop() in it, and let it return or raise instead"
        )
    if isinstance(error, FileNotFoundError) and _stands_nowhere():
        return UsageError(
            "the working folder is gone: it was deleted or moved after somebody went there; "
            "cd into a folder that exists, and try again"
        )
    return as_raised(error) or error


def _stands_nowhere() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _stopped_the_loop(error: Exception) -> bool:
    """Whether asyncio says so: nothing in stretto stops the loop, so somebody's component did."""
    return isinstance(error, RuntimeError) and str(error) == "Event loop stopped before Future completed."


def _tell(error: StrettoError, *, as_json: bool) -> int:
    if as_json:
        print_json(error_document(error))
    else:
        note(error_text(error, notes().width))
    return exit_of(error)


def _tell_usage(error: Exception, *, as_json: bool) -> int:
    """What click says of a command line, and where to read more; nothing when it printed the help already."""
    context = getattr(error, "ctx", None)
    message = str(getattr(error, "format_message", error.__str__)()).strip()
    if not message:
        return Exit.USAGE
    message = " ".join(message.split()).replace(": Value error, ", ": ", 1)  # typer's own, of an enumeration
    if context is not None and not as_json:
        message += f"\n  read more: {context.command_path} --help"
    return _say(Exit.USAGE, "usage", message, as_json=as_json)


def _tell_bug(error: Exception, *, as_json: bool) -> int:
    """Say that it is ours."""
    what = f"{type(error).__name__}: {error}"
    if os.environ.get(DEBUG_VARIABLE):
        traceback.print_exception(error)
        hint = "please report it with the traceback above"
    else:
        hint = f"{DEBUG_VARIABLE}=1 shows the traceback; please report it with that"
    message = f"this is a bug in stretto {__version__}, not in your files: {what}\n  {hint}"
    return _say(Exit.FAILED, "bug", message, as_json=as_json)


def _say(code: Exit, name: str, message: str, *, as_json: bool) -> int:
    if as_json:
        print_json({"error": {"code": name, "message": message, "problems": []}})
    else:
        note(f"error: {message}")
    return code


def _end_in_silence() -> None:
    """Let nothing complain of the loop that a second Ctrl-C closed under it: all that can be told has been."""
    sys.unraisablehook = lambda _: None
    logging.getLogger("asyncio").disabled = True


def _leave_quietly() -> int:
    """Stop writing to a pipe that nobody reads."""
    silence_stdout()
    return Exit.BROKEN_PIPE


def _tell_lost(error: ResultLostError) -> int:
    """Say on stderr, with or without --json, that the result came nowhere."""
    silence_stdout()
    note(f"error: the result cannot be written to stdout: {error}; what the command did stands")
    return Exit.FAILED
