"""`stretto doctor`: what it finds wrong, and that it says what to do."""

import re
import sqlite3
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import stretto
from stretto.cli.doctor import installation
from stretto.cli.doctor.installation import NEWEST_PYTHON, OLDEST_PYTHON, examine_installation
from stretto.store.sqlite import Store
from stretto.types.enums import Reason
from stretto.types.extras import install_command
from tests.unit.cli.conftest import Cli

Ran = Callable[..., str]
PYPROJECT = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())


def checks(cli: Cli, *flags: str) -> dict[str, Any]:
    return {check["name"]: check for check in cli("doctor", "--json", *flags).document["checks"]}


def test_all_is_well_before_the_first_run(cli: Cli) -> None:
    told = cli("doctor")
    assert told.code == 0
    assert "none yet at .stretto/runs.db; the first run makes it" in told.out
    assert told.out.rstrip().endswith("all is well")


def test_a_store_that_is_well_is_counted(cli: Cli, ran: Ran) -> None:
    ran()
    found = checks(cli)
    assert {found[name]["state"] for name in ("store", "integrity", "content", "lost", "interrupted", "in doubt")} == {
        "well"
    }
    assert found["content"]["text"].startswith("1 run, 3 steps, ")


SHUT = """
import os
import stretto

@stretto.component(effects="read")
class api:
    def open(self) -> None:
        if os.environ.get("DOWN"):
            raise ConnectionError("refused")

    def close(self) -> None: ...

    async def __call__(self, n: int) -> dict[str, int]:
        return {"n": n}
"""


def test_a_component_that_did_not_open_is_wrong_until_it_does(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = '{name: a, component: api, input_mapping: {n: "input.n"}, resilience: {fallback: {output: {n: 0}}}}'
    (folder / "shop.yaml").write_text(f"stretto: 1\nname: shop\ncomponents: shut.py\nsteps: [{step}]\n")
    (folder / "shut.py").write_text(SHUT)
    monkeypatch.setenv("DOWN", "1")
    told = cli("run", "shop.yaml", "--input", '{"n": 7}')
    assert "a: component 'api' could not be opened: component 'api' raised ConnectionError: refused" in told.err
    found = checks(cli)["opening of api"]
    assert found["state"] == "wrong"
    assert "component 'api' could not be opened: component 'api' raised ConnectionError: refused" in found["text"]
    assert cli("doctor").code == 1
    monkeypatch.delenv("DOWN")
    cli("run", "shop.yaml", "--input", '{"n": 7}')
    assert "opening of api" not in checks(cli)
    assert "need not open" in cli("check", "-v", "shop.yaml").out
    assert "need not open" not in cli("check", "shop.yaml").out


def test_what_a_workflows_fallback_answered_for_is_told_of(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "shop.yaml").write_text(
        "stretto: 1\nname: shop\ncomponents: shut.py\ncontract: {input: {n: int}}\nfallback: {component: rules}\n"
        'steps: [{name: a, component: api, input_mapping: {n: "input.n"}}]\n'
    )
    rules = '\n\n@stretto.component(effects="pure")\nasync def rules(n: int) -> dict[str, int]:\n    return {"n": 0}\n'
    (folder / "shut.py").write_text(SHUT + rules)
    monkeypatch.setenv("DOWN", "1")
    cli("run", "shop.yaml", "--input", '{"n": 7}')
    assert "not everything could be opened" in checks(cli)["opening of shop"]["text"]
    monkeypatch.delenv("DOWN")
    cli("run", "shop.yaml", "--input", '{"n": 7}')
    assert "opening of shop" not in checks(cli)


@pytest.mark.parametrize(
    ("fallback", "of_step", "name"),
    [
        ("fallback: {component: rules, after: 2}", "", "shop"),
        ("", ", resilience: {fallback: {output: {n: 0}, after: 2}}", "api"),
    ],
)
def test_runs_that_were_not_tried_hide_nothing_that_did_not_open(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, fallback: str, of_step: str, name: str
) -> None:
    """After failures in a row fallbacks answer at once: that says nothing of whether anything would open."""
    (folder / "shop.yaml").write_text(
        f"stretto: 1\nname: shop\ncomponents: shut.py\ncontract: {{input: {{n: int}}}}\n{fallback}\n"
        f'steps: [{{name: a, component: api, input_mapping: {{n: "input.n"}}{of_step}}}]\n'
    )
    rules = '\n\n@stretto.component(effects="pure")\nasync def rules(n: int) -> dict[str, int]:\n    return {"n": 0}\n'
    (folder / "shut.py").write_text(SHUT + rules)
    monkeypatch.setenv("DOWN", "1")
    with stretto.load(folder / "shop.yaml", store=folder / ".stretto/runs.db") as workflow:
        runs = [workflow.run_sync({"n": 7}) for _ in range(60)]
    assert runs[-1].reason is Reason.BREAKER
    assert checks(cli)[f"opening of {name}"]["state"] == "wrong"


def test_a_write_in_doubt_is_wrong_and_says_what_to_type(cli: Cli, ran: Ran) -> None:
    run_id = ran("doubt")
    told = cli("doctor")
    assert told.code == 1
    assert f"1 write: {run_id} book" in told.out
    remedy = " ".join(told.out.split())
    assert f"stretto runs resume {run_id} --workflow workflow.yaml --happened OUTPUT or --did-not-happen" in remedy
    assert told.out.rstrip().endswith("1 thing is wrong")


def test_a_run_whose_doubt_was_settled_waits_to_be_resumed(cli: Cli, ran: Ran, folder: Path) -> None:
    run_id = ran("doubt")
    with Store(folder / ".stretto" / "runs.db") as store:
        store.settle_effect(run_id, "book", response=None)
    found = checks(cli)
    assert found["in doubt"]["state"] == "well"
    assert (found["settled, not resumed"]["state"], found["settled, not resumed"]["text"]) == (
        "wrong",
        f"1 run: {run_id}",
    )
    assert found["settled, not resumed"]["remedy"] == f"stretto runs resume {run_id} --workflow workflow.yaml"


def test_a_run_that_parked_without_intents_is_found_and_nobody_is_told_to_resume_it(
    cli: Cli, ran: Ran, folder: Path
) -> None:
    file = folder / "workflow.yaml"
    file.write_text(file.read_text().replace("durability: step", "durability: run"))
    run_id = ran("doubt")
    found = checks(cli)["parked for good"]
    assert (found["state"], found["text"]) == ("wrong", f"1 run: {run_id}")
    assert found["remedy"].startswith("find out whether the write happened; this run has no intents of its own here")
    assert found["remedy"].endswith(f"`stretto runs delete {run_id}`")
    assert found["remedy"] in " ".join(cli("run", "-i", '{"query": "doubt"}').err.split()).replace(
        cli("runs", "list", "--json").document["runs"][0]["id"], run_id
    )
    assert cli("runs", "delete", run_id, "--yes").code == 0


def test_a_parked_run_that_was_imported_is_resumed_where_it_was_made(cli: Cli, ran: Ran) -> None:
    run_id = ran("doubt")
    assert cli("runs", "export", "x.jsonl").code == 0
    assert cli("runs", "import", "x.jsonl", "--store", "other.db").code == 0
    told = cli("runs", "resume", run_id, "--did-not-happen", "--store", "other.db")
    assert "is resumed in the store where it was made" in " ".join(told.err.split())
    assert checks(cli, "--store", "other.db")["parked for good"]["text"] == f"1 run: {run_id}"


def test_lost_records_and_interrupted_runs_are_wrong(cli: Cli, ran: Ran, folder: Path) -> None:
    run_id = ran()
    with sqlite3.connect(folder / ".stretto" / "runs.db") as store:
        store.execute("UPDATE meta SET value = 3 WHERE key = 'lost'")
        store.execute("UPDATE runs SET status = NULL, owner = 'gone', lease_until_ns = 1")
    store.close()
    found = checks(cli)
    assert (found["lost"]["state"], found["lost"]["text"]) == ("wrong", "3 records")
    assert found["interrupted"]["text"] == f"1 run: {run_id}"
    assert found["interrupted"]["remedy"].startswith(f"stretto runs resume {run_id}")
    assert cli("runs", "list").out.count("interrupted") == 1


def test_runs_that_a_gateway_left_open_wait_for_the_next_one(cli: Cli, ran: Ran, folder: Path) -> None:
    run_id = ran()
    with sqlite3.connect(folder / ".stretto" / "runs.db") as store:
        labelled = "json_remove(json_set(doc, '$.labels', json('{\"gateway_key\": \"k1\"}')), '$.status')"
        store.execute(f"UPDATE runs SET status = NULL, owner = 'gone', lease_until_ns = 1, doc = {labelled}")
    store.close()
    found = checks(cli)
    assert found["interrupted"]["state"] == "well"
    assert found["left open by a gateway"]["text"] == f"1 run: {run_id}"
    assert "stretto gateway --name trip" in found["left open by a gateway"]["remedy"]
    told = cli("runs", "resume", run_id)
    assert (told.code, "was made at a gateway" in told.err) == (2, True), told.err


@pytest.mark.parametrize("content", [b"not a database at all", b"SQLite format 3\0" + bytes(50)])
def test_a_file_that_is_no_store_is_wrong_and_left_alone(cli: Cli, folder: Path, content: bytes) -> None:
    (folder / "other.db").write_bytes(content)
    found = checks(cli, "--store", "other.db")
    assert found["store"]["state"] == "wrong"
    assert found["store"]["remedy"]
    assert (folder / "other.db").read_bytes() == content


@pytest.mark.parametrize("place", ["/dev/null", ".", "theirs.db"])
def test_what_is_no_store_is_nowhere_called_well(cli: Cli, folder: Path, place: str) -> None:
    with sqlite3.connect(folder / "theirs.db") as other:
        other.execute("CREATE TABLE theirs (x)")
    other.close()
    told = cli("doctor", "--store", place, "--json")
    found = [check for check in told.document["checks"] if check["name"] in ("store", "integrity", "content")]
    assert told.code == 1
    assert [(check["name"], check["state"]) for check in found] == [("store", "wrong")]
    assert found[0]["remedy"]


def test_a_damaged_page_is_told_without_the_headings_of_sqlite(cli: Cli, ran: Ran, folder: Path) -> None:
    ran()
    path = folder / ".stretto" / "runs.db"
    with sqlite3.connect(path) as store:
        page = store.execute("SELECT rootpage FROM sqlite_master WHERE name = 'runs_task'").fetchone()[0]
        size = store.execute("PRAGMA page_size").fetchone()[0]
    store.close()
    content = bytearray(path.read_bytes())
    cells = slice(size * (page - 1) + 3, size * (page - 1) + 5)  # how many cells the page has, sqlite.org/fileformat2
    content[cells] = (99).to_bytes(2, "big")
    path.write_bytes(content)
    found = checks(cli)["integrity"]
    assert found["state"] == "wrong"
    assert found["text"].startswith(f"On tree page {page} ")
    assert "***" not in found["text"]


def test_a_truncated_store_is_told_as_damaged(cli: Cli, ran: Ran, folder: Path) -> None:
    ran()
    path = folder / ".stretto" / "runs.db"
    path.write_bytes(path.read_bytes()[:5000])
    told = cli("doctor")
    assert told.code == 1
    assert "damaged" in told.out


def test_the_extras_that_something_needs_are_told_with_the_command_that_installs_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(installation, "_installed", lambda _: False)
    found = {finding.name: finding for finding in examine_installation()}
    assert {name.removeprefix("extra ") for name in found if name.startswith("extra ")} == needed_extras()
    assert needed_extras() <= set(PYPROJECT["project"]["optional-dependencies"])
    assert found["extra mcp"].remedy == install_command("mcp")
    assert "mcp" in found["extra examples"].text


def needed_extras() -> set[str]:
    """Those that some code says are missing when they are, by an error or by what it tells in its place."""
    sources = (path.read_text() for path in Path(stretto.__file__).parent.rglob("*.py"))
    said = re.compile(r"raise MissingExtraError\(.*, (.+)\)|\{install_command\(([A-Z]+)\)\}")
    raised = [(text, name) for text in sources for names in said.findall(text) for name in names if name]
    return {_extra_named(said, text) for text, said in raised}


def _extra_named(said: str, text: str) -> str:
    """The extra as it is written, or what the constant of that file holds."""
    constant = re.search(rf'^{said}: Final = ("\w+")', text, re.MULTILINE) if said.isidentifier() else None
    return (constant[1] if constant else said).strip('"')


def test_the_range_of_pythons_is_that_of_the_package() -> None:
    oldest, newest = (".".join(map(str, each)) for each in (OLDEST_PYTHON, NEWEST_PYTHON))
    next_minor = f"{NEWEST_PYTHON[0]}.{NEWEST_PYTHON[1] + 1}"
    assert PYPROJECT["project"]["requires-python"] == f">={oldest},<{next_minor}"
    assert f"Programming Language :: Python :: {newest}" in PYPROJECT["project"]["classifiers"]


def test_a_python_that_is_too_old_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 0))
    python = next(iter(examine_installation()))
    assert (python.state, python.remedy) == ("wrong", "use Python 3.11 to 3.13, for which it is tested")


class TestLosses:
    def damaged(self, folder: Path, *statements: str) -> None:
        with sqlite3.connect(folder / ".stretto" / "runs.db") as store:
            for statement in statements:
                store.execute(statement)
        store.close()

    def test_of_a_store_that_is_well_are_0(self, cli: Cli, ran: Ran) -> None:
        ran()
        document = cli("doctor", "--json").document
        assert document["losses"]["total"] == 0
        assert set(document["losses"]) == {
            *("lost", "lost_steps", "ran_twice", "duplicated_effects", "lost_writes", "interrupted", "total")
        }
        assert re.search(r"losses +0$", cli("doctor").out, re.MULTILINE)

    def test_before_the_first_run_nothing_is_counted(self, cli: Cli) -> None:
        assert cli("doctor", "--json").document["losses"] == {}

    def test_an_acknowledged_write_without_its_receipt_is_told_with_what_to_do(
        self, cli: Cli, ran: Ran, folder: Path
    ) -> None:
        run_id = ran()
        self.damaged(folder, "DELETE FROM effects")
        told = cli("doctor")
        assert told.code == 1
        assert f"1 write: {run_id} book" in told.out
        assert "ask the system behind it what happened" in " ".join(told.out.split())
        assert cli("doctor", "--json").document["losses"]["lost_writes"] == 1

    def test_stranded_runs_count(self, cli: Cli, ran: Ran, folder: Path) -> None:
        ran()
        self.damaged(folder, "UPDATE runs SET status = NULL, owner = 'gone', lease_until_ns = 1")
        losses = cli("doctor", "--json").document["losses"]
        assert (losses["interrupted"], losses["total"]) == (1, 1)


def test_a_store_that_is_named_and_is_not_there_is_wrong(cli: Cli) -> None:
    told = cli("doctor", "--store", "typo.db")
    assert told.code == 1
    assert "there is none at /" in " ".join(told.out.split())  # a long path begins a line
    assert told.out.rstrip().endswith("1 thing is wrong")
