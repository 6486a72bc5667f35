"""Stores that are odd, or out of reach, and a working folder that is gone."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.unit.cli.conftest import Cli

LONG = "x" * 300

READERS = [["runs", "list"], ["runs", "show", "last"], ["runs", "export", "runs.jsonl"]]


@pytest.mark.parametrize("store", [LONG, "y/" * 3000 + "runs.db", "x" * 253])
@pytest.mark.parametrize("verb", READERS)
def test_a_place_whose_name_is_too_long_is_told_as_that(cli: Cli, verb: list[str], store: str) -> None:
    told = cli(*verb, "--store", store, "--json")
    if len(store) < 255:  # a file of that name can be; its log cannot
        assert told.document["error"]["message"].startswith("there is no store at ")
        return
    assert (told.code, told.document["error"]["code"]) == (1, "store")
    assert told.document["error"]["message"] == f"{store} cannot be read: File name too long; choose a shorter path"


@pytest.mark.parametrize(
    ("store", "text", "remedy"),
    [
        (LONG, f"{LONG} cannot be read: File name too long", "choose a shorter path"),
        ("workflow.yaml/runs.db", "none at workflow.yaml/runs.db, and ", "name another store with --store"),
        ("workflow.yaml/a/b/runs.db", "none at workflow.yaml/a/b/runs.db, and ", "name another store with --store"),
    ],
)
def test_a_place_where_no_store_can_be_is_wrong(cli: Cli, store: str, text: str, remedy: str) -> None:
    told = cli("doctor", "--store", store, "--json")
    (found,) = [check for check in told.document["checks"] if check["name"] == "store"]
    assert (told.code, found["state"]) == (1, "wrong")
    assert found["text"].startswith(text)
    assert found["remedy"].startswith(remedy)


@pytest.mark.parametrize("file", [LONG, f"{LONG}/runs.jsonl", "workflow.yaml/runs.jsonl"])
def test_a_place_where_no_export_can_be_is_told_as_that(cli: Cli, ran: Callable[[str], str], file: str) -> None:
    ran("oslo")
    told = cli("runs", "export", file, "--json")
    assert (told.code, told.document["error"]["code"]) == (1, "store")
    assert f"{file} cannot be written: " in told.document["error"]["message"]


@contextmanager
def nobody() -> Iterator[None]:
    """Act as a user who may do little."""
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user who may not read")
@pytest.mark.parametrize("shut", ["folder", "file"])
@pytest.mark.parametrize("verb", [["runs", "list"], ["runs", "show", "last"], ["doctor"]])
def test_a_store_that_may_not_be_read_is_told_as_that(cli: Cli, verb: list[str], shut: str) -> None:
    with TemporaryDirectory() as folder:  # those of pytest are shut for everybody but root
        store = Path(folder) / "place" / "runs.db"
        Path(folder).chmod(0o755)
        arguments = [*verb, "--store", str(store), "--json"]
        cli("run", "--input", '{"query": "oslo"}', "--store", str(store))
        assert cli(*arguments).code == 0, "and all that is imported is there"
        (store.parent if shut == "folder" else store).chmod(0)
        with nobody():
            told = cli(*arguments)
    assert told.code == 1
    assert f"{store} cannot be read: Permission denied" in told.out
    assert "give this user the right to read and write it and its folder, or choose another path" in told.out


@pytest.mark.parametrize(
    "verb", [["doctor"], ["run", "../workflow.yaml"], ["check", "../workflow.yaml"], ["new", ".", "--yes"]]
)
def test_a_working_folder_that_is_gone_is_told_as_that(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, verb: list[str]
) -> None:
    (folder / "gone").mkdir()
    monkeypatch.chdir(folder / "gone")
    (folder / "gone").rmdir()
    told = cli(*verb)
    assert told.code == 2
    assert told.err.startswith("error: the working folder is gone: ")
    assert "cd into a folder that exists" in told.err
