"""Where a command's program and files are."""

import errno
import hashlib
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from stretto.types.errors import Code, ComponentError
from stretto.types.os_error import reason_of

PASSED_ON: Final = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LANGUAGE"),
    *("LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME", "LD_LIBRARY_PATH"),
)
"""Variables of this process that a program is given without being asked for: none of them is a secret."""


_PASSING: Final = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ETXTBSY})
"""Why a system starts no process now and may in a moment: it is short of something, or the program is being written."""

MAX_PATH_CHARS: Final = 400
"""Of the PATH on which a program was looked for, in a message."""


def environment(inherit: Sequence[str], env: Mapping[str, str]) -> dict[str, str]:
    """What a program sees: a few variables of this process, those that were named, and those that were declared."""
    passed = {name: os.environ[name] for name in (*PASSED_ON, *inherit) if name in os.environ}
    return {**passed, **env}


def located(name: str, command: Sequence[str], place: Path, env: Mapping[str, str]) -> tuple[str, ...]:
    """The command with its program found; raises ComponentError, and says what to do, when it cannot be started."""
    program = command[0]
    if not place.is_dir():
        raise _not_there(name, f"cannot be started in '{place}': there is no such folder; make it, or mend `cwd`")
    if os.sep in program:
        path = place / program
        if not path.is_file():
            hint = "build it, or mend the path, which begins at the workflow file or its `cwd`"
            raise _not_there(name, f"cannot be started: there is no file '{path}'; {hint}")
        if not os.access(path, os.X_OK):
            raise _not_there(
                name,
                f"cannot be started: '{path}' is not executable; run chmod +x, or name what reads it: [sh, {program}]",
            )
        return (str(path), *command[1:])
    found = shutil.which(program, path=env.get("PATH", os.defpath)) or shutil.which(
        program, path=str(Path(sys.executable).parent)
    )
    if found is None:
        beside = (place / program).is_file()
        hint = f"try ./{program}" if beside else "install it, or give its path"
        looked = f"it was looked for in {_shown(env.get('PATH', os.defpath))}"
        raise _not_there(name, f"cannot be started: there is no program '{program}' on the PATH; {hint}: {looked}")
    return (found, *command[1:])


def _shown(path: str) -> str:
    return path if len(path) <= MAX_PATH_CHARS else f"{path[:MAX_PATH_CHARS]}..."


def not_started(name: str, error: OSError) -> ComponentError:
    """The error of a program that the system could not start."""
    hint = (
        "; begin its first line with #! and what reads it, or name that first" if error.errno == errno.ENOEXEC else ""
    )
    code = Code.UNAVAILABLE if error.errno in _PASSING else Code.FAILED_PRECONDITION
    return _not_there(name, f"could not be started: {reason_of(error)}{hint}", code)


def _not_there(name: str, what: str, code: Code = Code.FAILED_PRECONDITION) -> ComponentError:
    return ComponentError(f"program of '{name}' {what}", code, sent=False)


def files_of(command: Sequence[str], place: Path, folder: Path) -> dict[str, str]:
    """SHA-256 of each word of a command that names a file inside the folder."""
    root = folder.resolve()
    found = {}
    for word in command:
        if not Path(word).is_absolute() and _is_file_in(root, place / word):
            with (place / word).open("rb") as file:
                found[word] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def _is_file_in(root: Path, path: Path) -> bool:
    try:
        return path.is_file() and path.resolve().is_relative_to(root)
    except OSError:  # a word that is a script in itself, too long for the name of a file
        return False
