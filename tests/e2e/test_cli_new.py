"""What `stretto new` writes works at once: check, run, and its own tests, in processes of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent

BOARDS = {
    "defaults": [],
    "own words": [
        "--planner", 'whom to ask, "politely"', "--systems", "SAP orders*, e-mail, ledger",
        "--memory", "what they said", "--measures", "margin, -complaints",
    ],
    "one of each": ["--systems", "crm", "--measures", "solved"],
}  # fmt: skip


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("STRETTO", "PYTEST"))}
    return subprocess.run(
        [BIN / command[0], *command[1:]], cwd=folder, env=environment, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("board", BOARDS)
def test_the_scaffold_passes_check_run_and_its_own_tests(tmp_path: Path, board: str) -> None:
    made = run(tmp_path, "stretto", "new", "desk", "--yes", *BOARDS[board])
    assert made.returncode == 0, made.stderr
    desk = tmp_path / "desk"

    checked = run(desk, "stretto", "check", "workflow.yaml")
    assert checked.returncode == 0, checked.stderr
    assert checked.stdout.endswith("ok: 4 steps, 4 components\n")

    request = json.dumps({"request": "I have a question about orders"})
    ran = run(desk, "stretto", "run", "workflow.yaml", "--input", request)
    assert ran.returncode == 0, ran.stderr
    assert set(json.loads(ran.stdout)) == {"system", "answer"}

    tested = run(desk, "pytest", "-q", "-W", "error", "-p", "no:asyncio", "-p", "no:cacheprovider")
    assert tested.returncode == 0, tested.stdout
    assert "3 passed" in tested.stdout


@pytest.mark.slow
@pytest.mark.parametrize("board", BOARDS)
def test_the_scaffold_is_free_of_lint(tmp_path: Path, board: str) -> None:
    run(tmp_path, "stretto", "new", "desk", "--yes", *BOARDS[board])
    told = run(tmp_path / "desk", "ruff", "check", "--isolated", ".")
    assert told.returncode == 0, told.stdout
    if board == "defaults":  # longer names need longer lines
        assert run(tmp_path / "desk", "ruff", "format", "--isolated", "--check", ".").returncode == 0


@pytest.mark.slow
def test_the_scaffold_is_typed(tmp_path: Path) -> None:
    run(tmp_path, "stretto", "new", "desk", "--yes", *BOARDS["own words"])
    told = run(tmp_path / "desk", "mypy", "--strict", "components.py", "test_workflow.py")
    assert told.returncode == 0, told.stdout


@pytest.mark.slow
def test_what_memory_keeps_outlives_the_command(tmp_path: Path) -> None:
    run(tmp_path, "stretto", "new", "desk", "--yes")
    for words in ("first", "second"):
        run(tmp_path / "desk", "stretto", "run", "workflow.yaml", "--input", json.dumps({"request": words}))
    shown = run(tmp_path / "desk", "stretto", "runs", "show", "last", "--json")
    assert json.loads(shown.stdout)["run"]["memory"] == {"recent": ["first"]}
