import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from stretto.record.codec import encode_step
from stretto.record.model import Run
from stretto.store import schema
from stretto.store.rows import OPENED_COLUMNS, SPILL_BYTES, opened_row
from stretto.store.schema import _STEPS, VERSION, _statements, version_of
from stretto.store.sqlite import Store
from stretto.types.enums import Durability, RunStatus
from stretto.types.ids import Digest, digest_of
from tests.unit.record.generated import a_run, a_step, an_open_run, raw
from tests.unit.store.test_journal import canonical_run, record


def write_version_1(path: Path, run: Run, blobs: dict[Digest, bytes]) -> None:
    """A store as the first schema kept it: a row for each step, a large field in a blob."""

    def put(content: bytes) -> Digest:
        blobs[digest_of(content)] = content
        return digest_of(content)

    with closing(sqlite3.connect(path)) as database, database:
        for statement in _statements(_STEPS[0]):
            database.execute(statement)
        database.execute("PRAGMA user_version = 1")
        database.execute(f"PRAGMA application_id = {0x53545254}")
        database.execute("INSERT INTO meta VALUES ('input_key', randomblob(32)), ('lost', 0)")
        row = dict(zip(OPENED_COLUMNS.split(", "), opened_row(run, "", 1, 0, put), strict=True))
        del row["effect_key"]  # of a later schema
        database.execute(f"INSERT INTO runs ({', '.join(row)}) VALUES ({','.join('?' * 16)})", [*row.values()])
        for seq, step in enumerate(run.steps):
            doc, spilled = msgspec.json.decode(encode_step(step)), None
            if len(bytes(step.output)) > SPILL_BYTES:
                content = bytes(step.output)
                doc["output"], spilled = {"$blob": put(content), "bytes": len(content)}, "output"
            text = msgspec.json.encode(doc).decode()
            database.execute("INSERT INTO steps VALUES (?, ?, ?, ?)", (run.id, seq, text, spilled))
        for digest, content in blobs.items():
            database.execute("INSERT INTO blobs VALUES (?, ?, ?)", (run.tenant, digest, content))
            database.execute("INSERT INTO blob_refs VALUES (?, ?, ?)", (run.id, run.tenant, digest))


def test_a_file_of_the_first_schema_is_read_and_written_on(path: Path) -> None:
    old = a_run(steps=[a_step("small"), a_step("large", output=raw("y" * 2 * SPILL_BYTES)), a_step("last")])
    write_version_1(path, old, {})
    with Store(path) as store:
        assert canonical_run(store.get(old.id)) == canonical_run(old)
        assert store.stats().steps == 3
        store.delete([old.id])
        assert store.stats().steps == 0


def take_back(path: Path, version: int) -> None:
    """Make a store of this release one of an older schema, from the second on."""
    later = {
        4: ("DROP INDEX runs_effect_key", "DROP INDEX runs_effect_once", "ALTER TABLE runs DROP COLUMN effect_key"),
        3: ("DROP TABLE settings",),
    }
    with closing(sqlite3.connect(path)) as database, database:
        for statement in [each for known, script in later.items() if known > version for each in script]:
            database.execute(statement)
        database.execute(f"PRAGMA user_version = {version}")


@pytest.mark.parametrize("version", range(2, VERSION))
async def test_what_an_older_schema_left_unsealed_is_taken_over_under_settings_that_it_did_not_know(
    path: Path, version: int
) -> None:
    ended, left = a_run(), an_open_run()
    with Store(path) as store:
        await record(store, ended, Durability.RUN)
        await store.open(left, Durability.STEP)
    take_back(path, version)
    with Store(path) as store:
        assert store.settings("desk") == []
        store.set_settings("desk", {"steps.ask.timeout": "2s"}, by="ann")
        assert [each.value for each in store.settings("desk")] == ["2s"]
        assert canonical_run(store.get(ended.id)) == canonical_run(ended)
        assert store.claim(left.id).run.id == left.id
    assert version_at(path) == VERSION


def version_at(path: Path) -> int:
    with closing(sqlite3.connect(path)) as database:
        return version_of(database)


def test_processes_that_open_an_older_file_together_bring_it_up_to_date_once(path: Path) -> None:
    write_version_1(path, old := a_run(steps=[a_step(f"s{index}") for index in range(200)]), {})
    code = "import sys, stretto\nwith stretto.Store(sys.argv[1]) as store: print(store.stats().steps)"
    asked = [subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert [process.communicate()[0].strip() for process in asked] == ["200"] * 4
    with Store(path) as store:
        assert canonical_run(store.get(old.id)) == canonical_run(old)


def test_a_file_that_a_later_release_made_meanwhile_stays_as_it_is(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(path) as store:
        store.stats()
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA user_version = {VERSION + 1}")
    seen = iter([0])
    monkeypatch.setattr(schema, "version_of", lambda connection: next(seen, None) or version_of(connection))
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        schema.migrate(database)
        assert version_of(database) == VERSION + 1


async def test_a_run_that_the_first_schema_left_unsealed_can_be_taken_over(path: Path) -> None:
    old = an_open_run(steps=[a_step("one"), a_step("two")])
    write_version_1(path, old, {})
    with Store(path) as store:
        claimed = store.claim(old.id)
        claimed.run.steps.append(three := a_step("three"))
        claimed.journal.step(three)
        claimed.run.status = RunStatus.OK
        await claimed.journal.seal(claimed.run)
        assert [step.path for step in store.get(old.id).steps] == ["one", "two", "three"]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.text(alphabet=list("aé[{\"'\\\n\0💥"), max_size=6), min_size=1, max_size=6))
async def test_who_asks_in_sql_finds_the_steps_one_by_one(tmp_path: Path, texts: list[str]) -> None:
    path = tmp_path / "runs.db"
    path.unlink(missing_ok=True)
    run = a_run(steps=[a_step(f"s{index}", output=raw({"a": text})) for index, text in enumerate(texts)])
    run.steps.append(a_step("large", output=raw("y" * 2 * SPILL_BYTES)))
    with Store(path) as store:
        journal = await store.open(run, Durability.RUN)
        await journal.seal(run)
        with closing(sqlite3.connect(path)) as database:
            found = database.execute("SELECT seq, path, component, status, doc FROM steps ORDER BY seq").fetchall()
    assert [row[:4] for row in found] == [(seq, step.path, "planner", "ok") for seq, step in enumerate(run.steps)]
    assert [msgspec.json.decode(row[4])["output"] for row in found[:-1]] == [{"a": text} for text in texts]
