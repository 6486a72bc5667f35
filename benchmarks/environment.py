"""The peers' own environment: made once, kept until their pinned versions change."""

import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
FOLDER: Final = ROOT / ".venv-peers"
PYTHON: Final = FOLDER / ("Scripts" if sys.platform == "win32" else "bin") / "python"
REQUIREMENTS: Final = ROOT / "benchmarks" / "peers" / "requirements.txt"
INSTALLED: Final = FOLDER / ".installed"
"""Holds the requirements that were installed; absent while any is missing."""


def install_peers(say: Callable[[str], None]) -> None:
    """Install the pinned peers; one that cannot be installed is named, and its figures will be missing."""
    wanted = REQUIREMENTS.read_text(encoding="utf-8")
    if INSTALLED.is_file() and INSTALLED.read_text(encoding="utf-8") == wanted:
        return
    say(f"installing the peers into {FOLDER.name}")
    INSTALLED.unlink(missing_ok=True)
    if not PYTHON.exists():
        venv.create(FOLDER, with_pip=True)
    missing = [] if _pip("-r", str(REQUIREMENTS)) else [each for each in _pins(wanted) if not _pip("--no-deps", each)]
    for each in missing:
        say(f"could not install {each}: the figures that need it will be missing")
    if not missing:
        INSTALLED.write_text(wanted, encoding="utf-8")


def _pins(requirements: str) -> list[str]:
    lines = (line.strip() for line in requirements.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _pip(*arguments: str) -> bool:
    """Whether pip installed it; what pip has to say goes to stderr."""
    command = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]
    return subprocess.run(command, stdout=sys.stderr, check=False).returncode == 0
