"""The outermost edge: what each kind of end looks like from outside."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from stretto import __version__
from stretto.cli import boundary
from stretto.cli.boundary import execute
from stretto.cli.exits import exit_of
from stretto.types.errors import ComponentError, InputError, SpecError, StoreError, StrettoError, UsageError
from tests.unit.cli.conftest import Cli


def test_version_is_one_line(cli: Cli) -> None:
    assert (cli("--version").code, cli("--version").out) == (0, f"stretto {__version__}\n")


def test_the_module_can_be_run_as_the_command() -> None:
    told = subprocess.run([sys.executable, "-m", "stretto", "--version"], capture_output=True, text=True, check=True)
    assert told.stdout == f"stretto {__version__}\n"


def test_without_a_verb_the_verbs_are_shown_and_the_usage_is_wrong(cli: Cli) -> None:
    told = cli()
    assert told.code == 2
    assert "Check a workflow with its contract and components; run nothing." in told.out


def test_an_unknown_verb_gets_the_nearest(cli: Cli) -> None:
    told = cli("chekc")
    assert (told.code, told.out) == (2, "")
    assert "there is no command 'stretto chekc'; did you mean 'stretto check'?" in told.err


def test_wrong_usage_says_where_to_read_more(cli: Cli) -> None:
    told = cli("runs", "show")
    assert told.err == "error: Missing argument 'RUN'.\n  read more: stretto runs show --help\n"


def test_a_word_that_is_none_of_a_set_is_told_with_the_set(cli: Cli) -> None:
    told = cli("acp", "verify", "http://a", "--report", "xml")
    assert told.err.startswith("error: Invalid value for '--report': 'xml' is not one of 'junit', 'json'.")


def test_several_files_are_shown_once_as_several(cli: Cli) -> None:
    assert cli("serve", "--help").out.startswith("stretto serve WORKFLOW... [options]")


@pytest.mark.parametrize("verb", [["check"], ["run"], ["train", "--tasks", "t.jsonl"], ["replay", "last"]])
def test_the_workflow_file_is_the_usual_one_when_none_is_named(cli: Cli, folder: Path, verb: list[str]) -> None:
    assert "no FILE was given" not in cli(*verb).err
    (folder / "workflow.yaml").unlink()
    told = cli(*verb)
    assert told.code == 2
    assert "FILE was given, and there is no workflow.yaml in this folder; name a workflow file" in told.err


@pytest.mark.parametrize("verb", [[], ["run"], ["runs"], ["runs", "show"]])
def test_the_help_has_a_short_flag_too(cli: Cli, verb: list[str]) -> None:
    short, long = cli(*verb, "-h"), cli(*verb, "--help")
    assert (short.code, short.out) == (0, long.out)
    assert "-h, --help" in long.out


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SpecError([]), 2),
        (UsageError("x"), 2),
        (InputError("x", []), 2),
        (StoreError("x"), 1),
        (ComponentError("x"), 1),
    ],
)
def test_the_exit_code_follows_from_whose_fault_it_is(error: StrettoError, code: int) -> None:
    assert exit_of(error) == code


def raising(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def invoke(_arguments: object) -> int:
        raise error

    monkeypatch.setattr(boundary, "_invoke", invoke)


def test_a_bug_is_told_as_ours_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("STRETTO_DEBUG", raising=False)
    raising(monkeypatch, ZeroDivisionError("division by zero"))
    assert execute(["check", "x"]) == 1
    err = capsys.readouterr().err
    assert "this is a bug in stretto" in err
    assert "ZeroDivisionError: division by zero" in err
    assert "STRETTO_DEBUG=1" in err
    assert "Traceback" not in err


def test_a_loop_that_a_component_stopped_is_no_bug_of_ours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def stop() -> None:
        asyncio.get_running_loop().stop()
        await asyncio.sleep(1)

    with pytest.raises(RuntimeError) as caught:
        asyncio.run(stop())
    raising(monkeypatch, caught.value)
    assert execute(["run", "x"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("error: a component stopped the event loop that it was run in")
    assert "bug in stretto" not in err


def test_an_error_of_many_runs_at_once_is_told_as_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    raising(monkeypatch, ExceptionGroup("tasks", [ExceptionGroup("runs", [StoreError("the disk is full")])]))
    assert execute(["train", "x"]) == 1
    assert capsys.readouterr().err.startswith("error: the disk is full\n")


def test_debug_shows_the_traceback_of_a_bug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STRETTO_DEBUG", "1")
    raising(monkeypatch, ZeroDivisionError("division by zero"))
    execute(["check", "x"])
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ZeroDivisionError("x"), StoreError("locked", retryable=True)])
def test_with_json_every_end_is_a_document(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: BaseException
) -> None:
    raising(monkeypatch, error)
    execute(["check", "x", "--json"])
    out, err = capsys.readouterr()
    assert out.startswith('{"error":{"code":')
    assert err == ""


NO_UTF8 = os.fsdecode(b"\xff")


@pytest.mark.parametrize(
    "arguments",
    [
        [NO_UTF8],
        [f"--{NO_UTF8}"],
        ["check", f"{NO_UTF8}.yaml"],
        ["check", f"{NO_UTF8}/workflow.yaml"],
        ["new", NO_UTF8, "--yes"],
        ["new", "desk", "--yes", "--planner", NO_UTF8],
        ["new", "desk", "--yes", "--systems", NO_UTF8],
        ["runs", "list", "--store", f"{NO_UTF8}.db"],
        ["runs", "list", "--status", NO_UTF8],
        ["runs", "import", NO_UTF8],
        ["run", "--input", NO_UTF8],
        ["run", "--input", f"@{NO_UTF8}"],
        ["run", "--resource", f'a:="{NO_UTF8}"'],
        ["run", "--resource", f"a={NO_UTF8}"],
        ["run", "--label", f"{NO_UTF8}={NO_UTF8}"],
        ["run", "--checkpoint", f"planner={NO_UTF8}"],
        ["schema", NO_UTF8],
    ],
)
def test_an_argument_that_is_not_utf8_is_refused_in_a_document(cli: Cli, arguments: list[str]) -> None:
    told = cli(*arguments, "--json")
    assert told.code == 2
    assert told.document["error"]["code"] != "bug"
    assert told.err == ""


def test_a_store_whose_name_is_not_utf8_is_one(cli: Cli, folder: Path) -> None:
    store = ("--store", f"{NO_UTF8}.db", "--json")
    made = cli("run", "--input", '{"query": "oslo"}', *store)
    assert (made.code, made.document["store"]) == (0, "\ufffd.db")
    run_id = made.document["run"]["id"]
    assert [run["id"] for run in cli("runs", "list", *store).document["runs"]] == [run_id]
    assert cli("runs", "show", "last", *store).document["store"] == "\ufffd.db"
    assert cli("runs", "export", f"{NO_UTF8}.jsonl", *store).document["runs"] == 1
    assert cli("runs", "import", f"{NO_UTF8}.jsonl", "--json").document["runs"] == 1
    assert cli("doctor", *store).document["ok"]
    assert (folder / f"{NO_UTF8}.db").is_file()


def test_a_folder_whose_name_is_not_utf8_is_one(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = folder / NO_UTF8
    place.mkdir()
    for name in ("workflow.yaml", "components.py"):
        (folder / name).rename(place / name)
    monkeypatch.chdir(place)
    assert cli("check", "--json").document["ok"]
    assert cli("run", "--input", '{"query": "oslo"}').code == 0
    assert cli("new", "desk", "--yes", "--json").document["folder"] == "desk"
    assert (
        cli("check", str(place / "desk" / "workflow.yaml"), "--json")
        .document["file"]
        .endswith("\ufffd/desk/workflow.yaml")
    )


def test_ctrl_c_is_one_line_and_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    raising(monkeypatch, KeyboardInterrupt())
    assert execute(["check", "x"]) == 130
    assert capsys.readouterr().err == "stopped by Ctrl-C\n"
