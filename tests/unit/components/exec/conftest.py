"""Programs to be asked, and what is left of them."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stretto.components.exec import ExecProgram, Format, Message
from tests.docs.pages import ROOT

JSON = Message(format=Format.JSON)
TEXT = Message(format=Format.TEXT)


@pytest.fixture(scope="session")
def build_cobol(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """`build_cobol(source)`: the program that GnuCOBOL makes of it."""
    compiler = shutil.which("cobc")
    if compiler is None:
        pytest.skip("no GnuCOBOL here: apt-get install gnucobol")
    folder = tmp_path_factory.mktemp("cobol")

    def build(source: Path) -> Path:
        program = folder / source.stem
        if not program.exists():
            subprocess.run([compiler, "-x", "-o", str(program), str(source)], check=True, cwd=folder)
        return program

    return build


@pytest.fixture
def credit_rules(build_cobol: Callable[[Path], Path]) -> Path:
    return build_cobol(ROOT / "examples" / "legacy" / "credit_rules.cob")


def program(folder: Path, *command: str, **options: Any) -> ExecProgram:
    """A program that speaks JSON, or what its options say."""
    return ExecProgram("it", **{"command": command, "request": JSON, "response": JSON, "folder": folder, **options})


def shell(folder: Path, script: str, **options: Any) -> ExecProgram:
    """A shell script that speaks JSON, or what its options say."""
    return program(folder, "sh", "-c", script, **options)


def pid_in(path: Path) -> int:
    """The process id that a program wrote into a file, once it has."""
    deadline = time.monotonic() + 10
    while not (path.exists() and path.read_text().strip()):
        assert time.monotonic() < deadline, f"nothing wrote {path}"
        time.sleep(0.005)
    return int(path.read_text())


def is_alive(pid: int) -> bool:
    """Whether a process is there; also one that ended and that we, its parent, have not asked for yet: a zombie."""
    try:
        state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z" or int(parent) == os.getpid()


def wait_until_gone(*pids: int) -> None:
    """Wait for processes that were told to end."""
    deadline = time.monotonic() + 10
    while any(is_alive(pid) for pid in pids):
        assert time.monotonic() < deadline, f"one of {pids} goes on"
        time.sleep(0.005)


def end(pid: int) -> None:
    """Kill a process as an operator would."""
    os.kill(pid, signal.SIGKILL)
