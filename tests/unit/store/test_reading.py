import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from stretto.record.model import Annotation, Manifest, Run
from stretto.store.sqlite import Store
from stretto.types.enums import Durability, RunStatus
from stretto.types.errors import StoreError, UsageError
from stretto.types.ids import StepPath
from stretto.types.json import Json
from tests.unit.record.generated import WORKFLOW, a_run, a_step, an_open_run
from tests.unit.store.test_journal import record


async def filled(store: Store) -> list[Run]:
    """Six runs, a second apart."""
    second = 1_000_000_000
    other = Manifest(workflow="billing", version="2.0.0", plan=WORKFLOW.plan, components={})
    runs = [
        a_run(labels={"task": "t1", "split": "train"}, started_at_ns=1 * second),
        a_run(labels={"task": "t1", "split": "test", "purpose": "eval"}, started_at_ns=2 * second, reward=0.5),
        a_run(labels={"task": "t2", "split": "train", "group": "g"}, started_at_ns=3 * second),
        a_run(status=RunStatus.FAILED, started_at_ns=4 * second, tenant="acme"),
        a_run(manifest=other, started_at_ns=5 * second),
        a_run(started_at_ns=6 * second),
    ]
    for run in runs:
        await record(store, run, Durability.RUN)
    await store.open(an_open_run(started_at_ns=7 * second), Durability.STEP)
    return runs


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, [6, 5, 4, 3, 2, 1, 0]),
        ({"limit": 2}, [6, 5]),
        ({"workflow": "billing"}, [4]),
        ({"workflow": "support", "limit": 3}, [6, 5, 3]),
        ({"status": RunStatus.FAILED}, [3]),
        ({"status": "failed"}, [3]),
        ({"task": "t1"}, [1, 0]),
        ({"task": "t1", "split": "train"}, [0]),
        ({"group": "g"}, [2]),
        ({"purpose": "eval"}, [1]),
        ({"tenant": "acme"}, [3]),
        ({"since_ns": 5_000_000_000}, [6, 5, 4]),
        ({"task": None, "workflow": "billing"}, [4]),
        ({"task": "nobody"}, []),
    ],
)
async def test_listings_are_filtered_and_newest_first(
    store: Store, filters: dict[str, object], expected: list[int]
) -> None:
    runs = await filled(store)
    ids = [run.id for run in runs]
    listed = store.list(**filters)  # type: ignore[arg-type]  # data cases
    assert [ids.index(run.id) if run.id in ids else 6 for run in listed] == expected


async def test_a_listing_says_what_a_person_asks_first(store: Store) -> None:
    runs = await filled(store)
    listed = next(run for run in store.list() if run.id == runs[1].id)
    assert (listed.workflow, listed.version, listed.status, listed.reward) == ("support", "1.2.0", RunStatus.OK, 0.5)
    assert listed.workflow_run_id == runs[1].workflow_run_id
    assert listed.labels["split"] == "test"


async def test_folds_read_sealed_runs_oldest_first_in_pages(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = await filled(store)
    monkeypatch.setattr("stretto.store.reading._PAGE", 2)
    assert [run.id for run in store.runs()] == [run.id for run in runs]
    assert [run.id for run in store.runs(limit=3)] == [run.id for run in runs[:3]]
    assert [run.id for run in store.runs(split="train")] == [runs[0].id, runs[2].id]
    assert [len(run.steps) for run in store.runs(limit=1)] == [2]


async def test_a_fold_may_stop_in_the_middle_and_the_store_still_closes(path: Path) -> None:
    with Store(path) as store:
        await filled(store)
        next(store.runs())


async def test_a_run_is_found_by_any_of_its_names(store: Store) -> None:
    run = (await filled(store))[3]
    for name in (run.id, run.workflow_run_id, run.id[:32], run.id.upper()):
        assert store.get(name).id == run.id


async def test_an_unknown_and_an_ambiguous_name_are_told_apart(store: Store) -> None:
    runs = await filled(store)
    with pytest.raises(UsageError, match=r"no run has an id that begins with 'ffff'; .* and `last` is the newest"):
        store.get("ffff")
    with pytest.raises(UsageError, match=f"begins more than one id: {runs[0].id}, .*give more of it"):
        store.get(runs[0].id[:4])
    with pytest.raises(UsageError, match=r"is not in .*stretto runs list"):
        store.get(a_run().id)


def test_a_store_that_was_never_written_reads_as_empty_and_makes_no_file(path: Path) -> None:
    with Store(path) as store:
        assert (store.list(), list(store.runs()), store.in_doubt(), store.pending()) == ([], [], [], [])
        assert store.stats().runs == 0
    assert not path.exists()


async def test_what_was_handed_over_is_read_at_once(store: Store) -> None:
    for _ in range(20):
        run = a_run()
        await record(store, run, Durability.NONE)
        assert store.get(run.id).id == run.id


async def test_annotations_are_read_as_of_a_time(store: Store) -> None:
    run = (await filled(store))[0]
    late = Annotation(run_id=run.id, name="reward", value=1.0, at_ns=30)
    early = Annotation(run_id=run.id, name="label", value="wrong", at_ns=10, path=StepPath("planner"), by="ann")
    store.annotate(late, early)
    assert store.annotations(run.id) == [early, late]
    assert store.annotations(run.id, as_of_ns=29) == [early]
    assert store.annotations(run.id[:32], as_of_ns=9) == []


async def test_a_run_that_is_not_here_cannot_be_annotated(store: Store) -> None:
    run = a_run()
    with pytest.raises(UsageError, match=f"run {run.id} is not in the store, so it cannot be annotated"):
        store.annotate(Annotation(run_id=run.id, name="reward", value=1.0, at_ns=1))


async def test_quarantined_runs_are_found_by_their_marks_and_by_nothing_that_looks_like_one(store: Store) -> None:
    mark: dict[str, Json] = {"quarantined": True}
    long: dict[str, Json] = {"words": "x" * 9000}
    said = msgspec.Raw(msgspec.json.encode({"quarantined": True}))
    runs = [
        a_run(),
        a_run(steps=[a_step(), a_step(path=StepPath("marked"), evidence=mark)]),
        a_run(steps=[a_step(evidence={**mark, **long})]),
        a_run(steps=[a_step(evidence=long)]),
        a_run(steps=[a_step(output=said)]),
        a_run(evidence=mark),
    ]
    for run in runs:
        await record(store, run, Durability.RUN)
    asked = [run.id for run in runs]
    assert store.quarantined(asked) == {asked[1], asked[2], asked[5]}
    assert store.quarantined(asked[:1]) == store.quarantined([]) == set()


def test_the_input_key_is_secret_to_a_store_and_stays(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as one, Store(tmp_path / "b.db") as two:
        assert len(one.input_key) == 32
        assert one.input_key != two.input_key
        key = one.input_key
    with Store(tmp_path / "a.db") as again:
        assert again.input_key == key


async def test_a_closed_store_says_so(path: Path) -> None:
    store = Store(path)
    journal = await store.open(an_open_run(), Durability.STEP)
    store.close()
    store.close()
    with pytest.raises(StoreError, match="was closed; open a new Store"):
        journal.step(a_step())
    with pytest.raises(StoreError, match="was closed"):
        store.list()


def test_the_store_imports_nothing_heavy() -> None:
    code = (
        "import sys; import stretto.store.sqlite, stretto.record.lines; "
        "sys.exit(str([name for name in ('numpy', 'pydantic', 'safetensors', 'aiohttp') if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "[]"
