"""What to type for the `stretto` that runs: after `make demo` it is not on the shell's PATH."""

import shlex
import shutil
import sys
from pathlib import Path
from typing import Final

NAME: Final = "stretto"


def stretto_command() -> str:
    """The running program as a shell in this folder finds it: its name, the way to it, or Python with the module."""
    program = _program()
    if program is None:
        return f"{shlex.quote(_way(Path(sys.executable)))} -m {NAME}"
    found = shutil.which(NAME)
    if found is not None and program.samefile(found):
        return NAME
    return shlex.quote(_way(program))


def _program() -> Path | None:
    """What was typed, or the program beside Python where something else was, as with ``python -m stretto``."""
    for program in (Path(sys.argv[0]), Path(sys.executable).with_name(NAME)):
        if program.name == NAME and program.is_file():
            return program
    return None


def _way(program: Path) -> str:
    """From this folder when the program is in it, else the whole way; links stay, for a venv's Python is one."""
    whole = Path.cwd() / program
    if not whole.is_relative_to(Path.cwd()):
        return str(whole)
    way = str(whole.relative_to(Path.cwd()))
    return way if "/" in way else f"./{way}"  # a bare name would be looked for on PATH
