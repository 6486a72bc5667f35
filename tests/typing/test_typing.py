"""What users write is type-checked as strictly as they like: good code passes, mistakes are refused."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
MARK = re.compile(r"# error: ([a-z, -]+)$")
SAID = re.compile(r"^.*\.py:(\d+): error: .*\[([a-z-]+)\]$")


def found(name: str, cache: Path) -> set[tuple[int, str]]:
    """Line and code of every error in a file.

    mypy runs in a process of its own: in this one it would keep a gigabyte of types, and leave the cycles of all later
    tests uncollected, since it sets Python's collector off at 200 000 objects instead of 700.
    """
    options = ["--strict", "--config-file=", "--no-error-summary", "--hide-error-context", f"--cache-dir={cache}"]
    told = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(HERE / name)], capture_output=True, text=True, check=False
    )
    assert not told.stderr, told.stderr
    matches = [SAID.match(line) for line in told.stdout.splitlines() if ": error:" in line]
    return {(int(match[1]), match[2]) for match in matches if match is not None}


def marked(name: str) -> set[tuple[int, str]]:
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return {
        (number, code)
        for number, line in enumerate(lines, 1)
        if (match := MARK.search(line)) is not None
        for code in match[1].split(", ")
    }


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Types of the libraries are read once for all files."""
    return tmp_path_factory.mktemp("mypy")


@pytest.mark.parametrize("name", ["good.py", "bad.py"])
def test_every_mistake_of_a_user_is_refused_and_nothing_else(name: str, cache: Path) -> None:
    assert found(name, cache) == marked(name)
