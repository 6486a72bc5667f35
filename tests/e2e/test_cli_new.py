"""What `stretto new` writes works at once: check, run, and its own tests, in processes of their own."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent

BOARDS = {
    "defaults": [],
    "own words": [
        "--planner", 'whom to ask, "politely"', "--systems", "SAP orders*, e-mail, ledger",
        "--memory", "what they said", "--measures", "margin, -complaints",
    ],
    "one of each": ["--systems", "crm (reads)", "--measures", "solved"],
}  # fmt: skip


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("STRETTO", "PYTEST"))}
    return subprocess.run(
        [BIN / command[0], *command[1:]], cwd=folder, env=environment, capture_output=True, text=True, timeout=600,
        check=False,
    )  # fmt: skip


Desk = Callable[..., Path]
"""`(folder, board="defaults")`: the folder `desk` in it, as `stretto new` makes it of a board."""


@pytest.fixture(scope="module")
def desk_in(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """Copies of what the command made once of each board."""
    made = tmp_path_factory.mktemp("made")

    def desk(folder: Path, board: str = "defaults") -> Path:
        source = made / board
        if not source.exists():
            source.mkdir()
            told = run(source, "stretto", "new", "desk", "--yes", *BOARDS[board])
            assert told.returncode == 0, told.stderr
        return Path(shutil.copytree(source / "desk", folder / "desk"))

    return desk


@pytest.mark.slow
@pytest.mark.parametrize("board", BOARDS)
def test_the_scaffold_passes_check_run_and_its_own_tests(tmp_path: Path, board: str, desk_in: Desk) -> None:
    desk = desk_in(tmp_path, board)

    tested = run(desk, "pytest", "-q", "-W", "error", "-p", "no:cacheprovider")
    assert tested.returncode == 0, tested.stdout  # before anything else: no command has made a folder for it
    assert "3 passed" in tested.stdout

    checked = run(desk, "stretto", "check", "workflow.yaml")
    assert checked.returncode == 0, checked.stderr
    assert checked.stdout.endswith("ok: 4 steps, 4 components\n")

    request = json.dumps({"request": "I have a question about orders"})
    ran = run(desk, "stretto", "run", "workflow.yaml", "--input", request)
    assert ran.returncode == 0, ran.stderr
    assert set(json.loads(ran.stdout)) == {"system", "answer"}


@pytest.mark.slow
def test_the_scaffolds_test_says_why_a_run_failed(tmp_path: Path, desk_in: Desk) -> None:
    desk = desk_in(tmp_path)
    (desk / ".stretto").touch()  # no folder, so that the memory has no place
    tested = run(desk, "pytest", "-q", "-p", "no:cacheprovider")
    assert tested.returncode == 1
    assert "memory 'memory': " in tested.stdout


@pytest.mark.slow
def test_a_first_run_with_a_store_elsewhere_is_ok(tmp_path: Path, desk_in: Desk) -> None:
    request = json.dumps({"request": "I have a question about orders"})
    ran = run(desk_in(tmp_path), "stretto", "run", "workflow.yaml", "--input", request, "--store", "elsewhere.db")
    assert ran.returncode == 0, ran.stderr


@pytest.mark.slow
def test_training_is_not_remembered_and_comes_to_the_same_weights_in_two_folders(tmp_path: Path, desk_in: Desk) -> None:
    checkpoints = []
    for name in ("first", "second"):
        desk = desk_in(tmp_path / name)
        options = ("--tasks", "tasks.jsonl", "--set", "updates=3", "--json")
        trained = run(desk, "stretto", "train", "workflow.yaml", *options)
        assert trained.returncode == 0, trained.stderr
        checkpoints.append(json.loads(trained.stdout)["checkpoint"])
        run(desk, "stretto", "run", "workflow.yaml", "--input", json.dumps({"request": "the first customer"}))
        shown = run(desk, "stretto", "runs", "show", "last", "--json")
        assert json.loads(shown.stdout)["run"]["memory"] == {"recent": []}
    assert checkpoints[0] == checkpoints[1]


@pytest.mark.slow
def test_the_training_works_once_the_measures_are_written_where_the_scaffold_says(tmp_path: Path) -> None:
    made = run(tmp_path, "stretto", "new", "desk", "--yes", "--measures", "solved, happiness")
    place = re.search(r"happiness \(components\.py:(\d+)\)", made.stdout)
    assert place is not None
    components = tmp_path / "desk" / "components.py"
    lines = components.read_text().splitlines()
    start = int(place[1]) - 1
    lines[start : start + 3] = ["def happiness(found: bool | None) -> float:", "    return 0.5 if found else 0.0"]
    components.write_text("\n".join(lines))
    options = ("--tasks", "tasks.jsonl", "--set", "updates=2")
    trained = run(tmp_path / "desk", "stretto", "train", "workflow.yaml", *options)
    assert trained.returncode == 0, trained.stderr


@pytest.mark.slow
@pytest.mark.parametrize("board", BOARDS)
def test_the_scaffold_is_free_of_lint(tmp_path: Path, board: str, desk_in: Desk) -> None:
    desk = desk_in(tmp_path, board)
    told = run(desk, "ruff", "check", "--isolated", ".")
    assert told.returncode == 0, told.stdout
    if board == "defaults":  # longer names need longer lines
        assert run(desk, "ruff", "format", "--isolated", "--check", ".").returncode == 0


@pytest.mark.ci
def test_the_scaffold_is_typed(tmp_path: Path, desk_in: Desk) -> None:
    told = run(desk_in(tmp_path, "own words"), "mypy", "--strict", "components.py", "test_workflow.py")
    assert told.returncode == 0, told.stdout


@pytest.mark.slow
def test_what_memory_keeps_outlives_the_command(tmp_path: Path, desk_in: Desk) -> None:
    desk = desk_in(tmp_path)
    for words in ("first", "second"):
        run(desk, "stretto", "run", "workflow.yaml", "--input", json.dumps({"request": words}))
    shown = run(desk, "stretto", "runs", "show", "last", "--json")
    assert json.loads(shown.stdout)["run"]["memory"] == {"recent": ["first"]}
