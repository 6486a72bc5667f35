"""What is printed to be typed next works when it is typed, whichever command printed it."""

import json
import re
import shlex
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stretto.cli.waiting import Typed
from tests.unit.cli.conftest import Cli, Told

EACH = """
stretto: 1
name: each
components: components.py
durability: step
steps:
  - {name: all, for_each: "input.plans", as: plan, max_parallel: 2, component: book, input_mapping: {plan: plan}}
"""

HINT = re.compile(r"(?:then|other):\s+(stretto\s+runs\s+resume\s.*?)\s--happened\s+OUTPUT\s+or\s", re.DOTALL)


def hinted(text: str) -> list[str]:
    """The words of the command that a text gives for settling a write, after the program's name."""
    found = HINT.search(text)
    assert found is not None, text
    return shlex.split(found[1])[1:]


def settled(cli: Cli, text: str) -> Told:
    return cli(*hinted(text), "--happened", '{"booked": "by phone"}')


def remedy(cli: Cli, name: str, *flags: str) -> str:
    checks: list[dict[str, Any]] = cli("doctor", "--json", *flags).document["checks"]
    return str(next(check["remedy"] for check in checks if check["name"] == name))


@pytest.fixture
def tells(cli: Cli) -> dict[str, Callable[..., str]]:
    """What each command says of a write in doubt in the store given."""
    return {
        "show": lambda *store: cli("runs", "show", "last", *store).out,
        "doctor": lambda *store: remedy(cli, "in doubt", *store),
    }


@pytest.mark.parametrize("teller", ["show", "doctor"])
@pytest.mark.parametrize("store", [(), ("--store", "a store.db")])
def test_the_hint_names_the_store_and_the_usual_workflow(
    cli: Cli, tells: dict[str, Callable[..., str]], teller: str, store: tuple[str, ...]
) -> None:
    cli("run", "-i", '{"query": "doubt"}', *store)
    told = settled(cli, tells[teller](*store))
    assert (told.code, told.document) == (0, {"booked": "by phone"})


def test_a_workflow_that_is_not_known_is_left_to_be_filled_in(cli: Cli, folder: Path) -> None:
    (folder / "workflow.yaml").rename(folder / "trip.yaml")
    cli("run", "trip.yaml", "-i", '{"query": "doubt"}')
    assert "--workflow FILE" in " ".join(hinted(cli("runs", "show", "last").out))


def test_the_hint_after_a_run_names_workflow_store_and_baggage(cli: Cli, folder: Path) -> None:
    (folder / "workflow.yaml").rename(folder / "a trip.yaml")
    told = cli("run", "a trip.yaml", "-i", '{"query": "doubt"}', "--store", "a store.db", "--baggage", "key=s3cret")
    assert "s3cret" not in told.err
    assert settled(cli, told.err.replace("key=TEXT", "key=s3cret")).code == 0


@pytest.mark.parametrize("teller", ["show", "doctor", "run"])
def test_of_several_writes_in_doubt_each_is_settled_by_a_hint(
    cli: Cli, folder: Path, tells: dict[str, Callable[..., str]], teller: str
) -> None:
    (folder / "workflow.yaml").write_text(EACH)
    text = cli("run", "--input", '{"plans": ["DOUBT", "DOUBT"]}').err
    first = settled(cli, text if teller == "run" else tells[teller]())
    assert "settled by" in first.err
    assert "all[0]" in first.err
    assert settled(cli, first.err).code == 0


LABELS = ("--label", "purpose=train", "--label", "task=a/b", "--label", "group=1/a/b")
TRAINED = ("run", "-i", '{"query": "doubt"}', *LABELS)


def test_a_write_of_a_training_is_not_settled_by_resume(cli: Cli) -> None:
    run_id = json.loads(cli(*TRAINED, "--json").out)["run"]["id"]
    told = cli("runs", "resume", run_id, "--did-not-happen")
    assert told.code == 2
    assert "was made by a training" in told.err
    assert "settled" not in told.err
    document = cli("runs", "show", run_id, "--json").document
    assert document["annotations"] == []
    assert cli("runs", "list", "--json").document["runs"][0]["in_doubt"] is True


@pytest.mark.parametrize("teller", ["show", "doctor", "run"])
def test_for_a_run_of_a_training_nobody_suggests_to_resume_it(cli: Cli, teller: str) -> None:
    ran = cli(*TRAINED)
    texts = {
        "run": lambda: ran.err.partition("look at it")[2],
        "show": lambda: cli("runs", "show", "last").out.partition("In doubt")[2],
        "doctor": lambda: remedy(cli, "in doubt in training"),
    }
    text = " ".join(texts[teller]().split())
    assert "runs resume" not in text
    assert "`stretto train ... --resume` makes the runs of an unfinished update again" in text
    delete = re.search(r"`stretto (runs delete [^`]*)`", text)
    assert delete is not None
    assert cli(*delete[1].split(), "--yes").code == 0
    assert "all is well" in cli("doctor").out


def test_an_interrupted_run_of_a_training_stands_apart(cli: Cli, ran: Callable[[], str], folder: Path) -> None:
    left, waiting = json.loads(cli(*TRAINED, "--json").out)["run"]["id"], ran()
    with sqlite3.connect(folder / ".stretto" / "runs.db") as store:
        store.execute("UPDATE runs SET status = NULL, owner = 'gone', lease_until_ns = 1")
    store.close()
    assert remedy(cli, "interrupted") == f"stretto runs resume {waiting} --workflow workflow.yaml"
    assert f"`stretto runs delete {left}`" in remedy(cli, "interrupted in training")


def test_a_run_that_has_ended_is_told_so_before_anything_is_asked_for(cli: Cli) -> None:
    cli("run", "-i", '{"query": "oslo"}', "--baggage", "key=s3cret")
    for flags in ([], ["--happened", "{}"]):
        told = cli("runs", "resume", "last", *flags)
        assert (told.code, "has ended (ok)" in told.err, "--baggage" in told.err) == (2, True, False)


def test_a_command_is_quoted_as_a_shell_reads_it() -> None:
    command = Typed(store=Path("my runs/a'b.db")).command("runs", "show", "x")
    assert shlex.split(command) == ["stretto", "runs", "show", "x", "--store", "my runs/a'b.db"]
