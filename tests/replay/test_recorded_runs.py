"""Runs that released versions wrote are read, kept and replayed as if this version had written them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import stretto
from stretto import Run, Store
from stretto.record.lines import content_of
from stretto.record.model import StepRecord, decoded
from stretto.types.enums import Effect, RunStatus, StepStatus
from stretto.types.errors import StrettoError
from stretto.types.ids import MEMORY_PATH
from tests.replay.cases import Case, Change, Wrong, copied, folders, read_case, recorded_in

FOLDERS = folders()


@pytest.fixture(params=FOLDERS, ids=[f"{folder.parent.name}-{folder.name}" for folder in FOLDERS])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of a case's folder, and the working directory: what a component writes stays there."""
    place = copied(request.param, tmp_path)
    monkeypatch.chdir(place)
    return place


@pytest.fixture
def case(folder: Path) -> Case:
    return read_case(folder)


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    """A fresh store that has imported the run."""
    with Store(folder / "runs.db") as store:
        store.import_(recorded_in(folder))
        yield store


@pytest.fixture
def recorded(store: Store) -> Run:
    (run,) = store.runs()
    return run


@pytest.fixture
def workflow(folder: Path, store: Store) -> Iterator[stretto.Workflow]:
    with stretto.load(folder / "workflow.yaml", store=store) as workflow:
        yield workflow


def test_exporting_what_was_imported_gives_the_same_lines_and_arrays(folder: Path, store: Store) -> None:
    store.export(folder / "again.jsonl")
    before, after = (path.read_bytes().splitlines() for path in (recorded_in(folder), folder / "again.jsonl"))
    assert list(map(content_of, after)) == list(map(content_of, before))
    assert _files(folder / "again.blobs") == _files(folder / "run.blobs")


def test_the_same_files_are_still_the_versions_that_the_run_was_pinned_to(
    recorded: Run, workflow: stretto.Workflow
) -> None:
    assert workflow.plan.manifest == recorded.manifest


async def test_a_replay_takes_every_answer_from_the_record(
    case: Case, recorded: Run, workflow: stretto.Workflow
) -> None:
    again = await workflow.replay(recorded)
    before = {step.path: step for step in recorded.steps}
    assert again.status == (case.replayed or recorded.status)
    assert case.replayed or again.reason is recorded.reason
    assert decoded(again.output) == decoded(recorded.output)
    assert (again.rewards, again.reward) == (recorded.rewards, recorded.reward)
    assert not again.simulated or case.replayed
    for step in again.steps:
        assert (step.status, bytes(step.output)) == (before[step.path].status, bytes(before[step.path].output))
        assert _was_called(step) == (step.status is StepStatus.FAILED)
    unreached = before.keys() - {step.path for step in again.steps} - {MEMORY_PATH}
    assert {path.rpartition("/")[0] for path in unreached} <= {step.path for step in again.steps if step.reused_from}
    _assert_nothing_was_written(again, workflow.store)


CHANGES = [
    pytest.param(folder, change, id=f"{folder.parent.name}-{folder.name}-{change.name}")
    for folder in FOLDERS
    for change in read_case(folder).changes
]


@pytest.mark.parametrize(("folder", "change"), CHANGES, indirect=["folder"])
async def test_a_replay_under_a_change_makes_again_what_is_downstream_and_nothing_else(
    change: Change, recorded: Run, workflow: stretto.Workflow
) -> None:
    again = await workflow.replay(recorded, outputs=change.outputs, dry_run=change.dry_run)
    called = {step.path for step in again.steps if _was_called(step)}
    assert called == {*change.outputs, *change.again, *change.retried, *change.refused}
    assert (again.status, decoded(again.output)) == (change.status, change.output)
    _assert_nothing_was_written(again, workflow.store)


@pytest.mark.parametrize(("folder", "change"), CHANGES, indirect=["folder"])
async def test_a_replay_under_a_change_marks_what_is_downstream_as_simulated_and_nothing_else(
    change: Change, recorded: Run, workflow: stretto.Workflow
) -> None:
    again = await workflow.replay(recorded, outputs=change.outputs, dry_run=change.dry_run)
    left_out = {step.path for step in again.steps if "dry_run" in step.evidence}
    marked = {step.path for step in again.steps if step.simulated and step.component}
    assert marked == {*change.outputs, *change.again, *change.refused, *left_out}
    assert again.simulated


WRONG = [
    pytest.param(folder, wrong, id=f"{folder.parent.name}-{folder.name}-{'-'.join(wrong.outputs)}")
    for folder in FOLDERS
    for wrong in read_case(folder).wrong
]


@pytest.mark.parametrize(("folder", "wrong"), WRONG, indirect=["folder"])
async def test_outputs_that_cannot_stand_are_told_with_what_is_wrong(
    wrong: Wrong, recorded: Run, workflow: stretto.Workflow
) -> None:
    if wrong.before:
        with pytest.raises(StrettoError) as caught:
            await workflow.replay(recorded, outputs=wrong.outputs)
        said = str(caught.value)
    else:
        again = await workflow.replay(recorded, outputs=wrong.outputs)
        assert again.status is RunStatus.FAILED
        said = again.error.message if again.error else ""
    assert wrong.says in said


def test_what_became_known_later_is_kept_in_its_order(case: Case, recorded: Run, store: Store) -> None:
    kept = [(note.name, note.value, note.path, note.by, note.reason) for note in store.annotations(recorded.id)]
    assert kept == [(note.name, note.value, note.path, note.by, note.reason) for note in case.annotations]


def test_what_was_asked_is_what_was_recorded(case: Case, recorded: Run) -> None:
    for name in ("labels", "tenant", "seed", "budget", "traceparent"):
        assert getattr(recorded, name) == getattr(case, name)
    assert recorded.baggage == tuple(sorted(case.baggage))
    assert decoded(recorded.input) == case.input
    assert decoded(recorded.reference) == case.reference
    assert (decoded(recorded.resources) or {}) == case.resources


def test_each_recorded_write_has_its_intent_and_its_receipt(recorded: Run, store: Store) -> None:
    writes = {step.path: decoded(step.output) for step in recorded.steps if step.effect is Effect.WRITE}
    receipts = {effect.path: effect.receipt and decoded(effect.receipt) for effect in store.effects(recorded.id)}
    assert receipts == writes


def _was_called(step: StepRecord) -> bool:
    """Whether its component was asked, or something given stood in the place of that."""
    return bool(step.component) and not step.reused_from and step.status is not StepStatus.SKIPPED


def _assert_nothing_was_written(again: Run, store: Store) -> None:
    assert store.effects(again.id) == []
    assert not Path("ledger.jsonl").exists()


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.is_dir() else {}
