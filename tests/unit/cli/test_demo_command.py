"""The commands that the demo tells to type work in the shell that it was started from."""

from pathlib import Path

import pytest

from stretto.cli.demo.command import stretto_command


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in, and nothing on PATH."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    return tmp_path


def installed(folder: Path) -> Path:
    """A program ``stretto`` in a folder, and a Python beside it."""
    folder.mkdir(parents=True)
    for name in ("stretto", "python"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return folder / "stretto"


def started(monkeypatch: pytest.MonkeyPatch, program: Path | str, python: Path) -> None:
    monkeypatch.setattr("sys.argv", [str(program), "demo"])
    monkeypatch.setattr("sys.executable", str(python))


def test_the_stretto_on_path_is_told_by_its_name(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = installed(here / "bin")
    monkeypatch.setenv("PATH", str(program.parent))
    started(monkeypatch, program, program.with_name("python"))
    assert stretto_command() == "stretto"


def test_a_link_on_path_to_the_one_that_runs_is_told_by_its_name(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = installed(here / "venv" / "bin")
    (here / "bin").mkdir()
    (here / "bin" / "stretto").symlink_to(program)
    monkeypatch.setenv("PATH", str(here / "bin"))
    started(monkeypatch, program, program.with_name("python"))
    assert stretto_command() == "stretto"


@pytest.mark.parametrize("other", [False, True])
def test_one_that_is_not_on_path_is_told_by_the_way_to_it(
    here: Path, monkeypatch: pytest.MonkeyPatch, other: bool
) -> None:
    if other:
        monkeypatch.setenv("PATH", str(installed(here / "other").parent))
    program = installed(here / ".venv" / "bin")
    started(monkeypatch, ".venv/bin/stretto", program.with_name("python"))
    assert stretto_command() == ".venv/bin/stretto"


def test_outside_the_folder_the_whole_way_is_told_quoted(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = installed(here / "my venv" / "bin")
    (here / "work").mkdir()
    monkeypatch.chdir(here / "work")
    started(monkeypatch, program, program.with_name("python"))
    assert stretto_command() == f"'{program}'"


def test_one_in_the_folder_itself_is_told_so_that_the_shell_finds_it(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "bin").mkdir()
    monkeypatch.chdir(here / "bin")
    installed(here / "bin" / "x").rename(here / "bin" / "stretto")
    started(monkeypatch, here / "bin" / "stretto", here / "bin" / "x" / "python")
    assert stretto_command() == "./stretto"


def test_started_as_a_module_the_program_beside_python_is_told(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = installed(here / ".venv" / "bin")
    started(monkeypatch, here / "src" / "stretto" / "__main__.py", program.with_name("python"))
    assert stretto_command() == ".venv/bin/stretto"


def test_without_any_program_python_is_told_to_run_the_module(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = installed(here / ".venv" / "bin")
    program.unlink()
    started(monkeypatch, here / "src" / "stretto" / "__main__.py", program.with_name("python"))
    assert stretto_command() == ".venv/bin/python -m stretto"
