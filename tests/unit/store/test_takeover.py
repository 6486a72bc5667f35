import asyncio
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import orjson
import pytest

from stretto.store import reading
from stretto.store.owner import LEASE_S
from stretto.store.settle import SETTLED
from stretto.store.sqlite import Store
from stretto.types.enums import Durability, Reason, RunStatus
from stretto.types.errors import StoreError, UsageError
from tests.unit.record.generated import a_run, a_step, an_effect, an_open_run, raw
from tests.unit.store.test_journal import canonical_run, record

ABANDON = """
import asyncio, os, sys
from stretto.store.sqlite import Store
from stretto.types.enums import Durability
from tests.unit.record.generated import a_step, an_effect, an_open_run

async def main():
    run = an_open_run()
    journal = await Store(sys.argv[1]).open(run, Durability.STEP)
    journal.step(a_step("planner"))
    await journal.intent(an_effect(run.id))
    print(run.id, flush=True)
    os.kill(os.getpid(), 9)

asyncio.run(main())
"""


def abandon(path: Path) -> str:
    """Let another process begin a run, state an intent, and be killed; returns the run's id."""
    done = subprocess.run([sys.executable, "-c", ABANDON, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == -9, done.stderr
    return done.stdout.strip()


async def interrupted(path: Path) -> str:
    """A run whose store was closed before it ended."""
    run = an_open_run()
    with Store(path) as store:
        journal = await store.open(run, Durability.STEP)
        journal.step(a_step("planner"))
        await journal.intent(an_effect(run.id))
    return run.id


async def test_an_interrupted_run_is_claimed_with_all_it_did(path: Path, store: Store) -> None:
    run_id = await interrupted(path)
    claim = store.claim(run_id, "ann")
    assert (claim.run.id, claim.run.status, claim.epoch) == (run_id, None, 2)
    assert [step.path for step in claim.steps] == ["planner"]
    assert [effect.in_doubt for effect in claim.effects] == [True]


async def test_a_claimed_run_goes_on_where_it_was(path: Path, store: Store) -> None:
    claim = store.claim((await interrupted(path))[:32])
    run = claim.run
    effect = claim.effects[0]
    effect.receipt, effect.received_at_ns, effect.confirmed = raw({"ok": True}), 9, True
    await claim.journal.receipt(effect)
    run.steps.append(step := a_step("executor"))
    claim.journal.step(step)
    run.status = RunStatus.OK
    await claim.journal.seal(run)
    assert canonical_run(store.get(run.id)) == canonical_run(run)
    assert store.effects(run.id) == [effect]
    assert (store.pending(), store.in_doubt()) == ([], [])


async def test_the_former_owner_is_refused_and_harms_nothing(store: Store, other: Store) -> None:
    run = an_open_run()
    former = await store.open(run, Durability.STEP)
    expire_leases(store)
    claim = other.claim(run.id)
    with pytest.raises(StoreError, match="no longer this journal's to write"):
        await former.intent(an_effect(run.id))
    former.step(a_step("late"))
    store.flush()
    with pytest.raises(StoreError, match="another process took it over"):
        former.step(a_step("later"))
    run.status = RunStatus.FAILED
    with pytest.raises(StoreError, match="no longer this journal's to write"):
        await former.seal(run)
    assert store.lost == 0
    claim.run.status = RunStatus.OK
    await claim.journal.seal(claim.run)
    assert (other.get(run.id).status, other.get(run.id).steps, other.effects(run.id)) == (RunStatus.OK, [], [])


async def test_a_stale_write_beside_good_ones_is_the_only_one_refused(store: Store, other: Store) -> None:
    stale_run = an_open_run()
    stale = await store.open(stale_run, Durability.STEP)
    expire_leases(store)
    other.claim(stale_run.id)
    stale_run.status = RunStatus.OK
    good = [a_run() for _ in range(10)]
    outcomes = await asyncio.gather(
        *(record(store, run, Durability.STEP) for run in good), stale.seal(stale_run), return_exceptions=True
    )
    assert [type(outcome).__name__ for outcome in outcomes] == ["StepJournal"] * 10 + ["StoreError"]
    assert len(store.list(status=RunStatus.OK)) == 10


def expire_leases(store: Store) -> None:
    store._writer.call(lambda connection: connection.execute("UPDATE runs SET lease_until_ns = 1"))


async def test_a_run_that_another_process_executes_is_left_to_it(store: Store, other: Store) -> None:
    run = an_open_run()
    await store.open(run, Durability.STEP)
    with pytest.raises(StoreError, match=r"is being executed by process \d+ on .*; if that process hangs") as caught:
        other.claim(run.id)
    assert caught.value.retryable
    assert other.pending() == []


async def test_a_process_may_claim_a_run_that_it_dropped(store: Store) -> None:
    run = an_open_run()
    await store.open(run, Durability.STEP)
    assert store.claim(run.id, "again").epoch == 2
    assert store.claim(run.id).epoch == 3


async def test_a_process_does_not_take_a_run_over_from_itself(store: Store) -> None:
    run = an_open_run()
    journal = await store.open(run, Durability.STEP)
    with pytest.raises(StoreError, match="is being executed by this very process") as caught:
        store.claim(run.id)
    assert caught.value.retryable
    run.status, run.reason = RunStatus.PARKED, Reason.IN_DOUBT
    await journal.seal(run)
    claim = store.claim(run.id)
    with pytest.raises(StoreError, match="is being executed by this very process"):
        store.claim(run.id)
    assert claim.epoch == 2


async def test_of_many_threads_that_claim_a_run_one_gets_it(store: Store) -> None:
    run = an_open_run()
    await store.open(run, Durability.STEP)
    outcomes = await asyncio.gather(*(asyncio.to_thread(store.claim, run.id) for _ in range(8)), return_exceptions=True)
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Claim"] + ["StoreError"] * 7


async def test_a_run_whose_seal_failed_is_left_to_others_with_the_next_heartbeat(store: Store, other: Store) -> None:
    run = an_open_run()
    journal = await store.open(run, Durability.STEP)
    store._writer.call(lambda connection: connection.execute("PRAGMA max_page_count = 1").fetchall())
    run.status, run.output = RunStatus.OK, raw("x" * 100_000)
    with pytest.raises(StoreError, match="the disk is full"):
        await journal.seal(run)
    store._writer.call(lambda connection: connection.execute("PRAGMA max_page_count = 1000000").fetchall())
    assert other.pending() == []
    beat(store)
    assert [found.id for found in other.pending()] == [run.id]
    assert other.claim(run.id).epoch == 2


async def test_a_silent_owner_loses_its_lease(store: Store, other: Store) -> None:
    run = an_open_run()
    await store.open(run, Durability.STEP)
    later = time.time_ns() + int((LEASE_S + 1) * 1e9)
    assert [found.id for found in other.pending(later)] == [run.id]


async def test_heartbeats_renew_the_lease_of_open_and_claimed_runs(path: Path, store: Store, other: Store) -> None:
    run = an_open_run()
    first = await store.open(run, Durability.STEP)
    claim = store.claim((await interrupted(path)), "named")
    expire_leases(other)
    assert {found.id for found in other.pending()} == {run.id, claim.run.id}
    beat(store)
    assert other.pending() == []
    del first


def beat(store: Store) -> None:
    """Let the store's next heartbeat come now."""
    store._writer._heartbeat._due = 0.0
    for _ in range(2):  # the writer looks at its clock in between
        store._writer.call(lambda _: None)


async def test_a_killed_process_leaves_its_run_to_others_at_once(path: Path, store: Store) -> None:
    run_id = abandon(path)
    assert [run.id for run in store.pending()] == [run_id]
    assert [(effect.run_id, effect.path) for effect in store.in_doubt()] == [(run_id, "executor")]
    assert store.claim(run_id).steps[0].path == "planner"


async def test_a_closed_store_leaves_its_runs_to_others_at_once(path: Path, store: Store) -> None:
    run_id = await interrupted(path)
    assert [run.id for run in store.pending()] == [run_id]


async def test_ended_runs_cannot_be_claimed(store: Store) -> None:
    run = a_run()
    await record(store, run, Durability.STEP)
    with pytest.raises(UsageError, match=r"has ended \(ok\); only an interrupted or parked run can be resumed"):
        store.claim(run.id)


async def test_a_parked_run_can_be_claimed_and_is_unsealed_then(store: Store) -> None:
    run = a_run(status=RunStatus.PARKED, reason=Reason.IN_DOUBT)
    await record(store, run, Durability.STEP)
    claim = store.claim(run.id)
    assert (claim.run.status, claim.run.reason, len(claim.steps)) == (None, None, 2)
    assert (store.get(run.id).status, store.get(run.id).reason) == (None, None)
    claim.run.status = RunStatus.OK
    await claim.journal.seal(claim.run)
    assert store.get(run.id).status is RunStatus.OK


async def test_a_run_without_intents_cannot_be_resumed(store: Store) -> None:
    run = a_run(status=RunStatus.PARKED)
    await record(store, run, Durability.RUN)
    with pytest.raises(UsageError, match="durability 'run', which keeps no intents"):
        store.claim(run.id)


# effects


async def test_a_write_in_flight_is_not_called_in_doubt(store: Store, other: Store) -> None:
    run = an_open_run()
    journal = await store.open(run, Durability.STEP)
    await journal.intent(an_effect(run.id))
    assert other.in_doubt() == []
    run.status, run.reason = RunStatus.PARKED, Reason.IN_DOUBT
    await journal.seal(run)
    assert [effect.path for effect in other.in_doubt()] == ["executor"]


async def test_a_receipt_stands_once(store: Store) -> None:
    run = an_open_run()
    journal = await store.open(run, Durability.STEP)
    effect = an_effect(run.id)
    await journal.intent(effect)
    await journal.intent(effect)  # sent again under the same key
    received = msgspec.structs.replace(effect, receipt=raw({"ok": 1}), received_at_ns=7)
    await journal.receipt(received)
    for late in (effect, msgspec.structs.replace(received, receipt=raw({"ok": 2}))):
        with pytest.raises(StoreError, match="the write has its receipt already"):
            await journal.receipt(late)
    assert store.effects(run.id) == [received]


async def test_a_refused_write_may_be_tried_again(store: Store) -> None:
    run = an_open_run()
    journal = await store.open(run, Durability.STEP)
    effect = an_effect(run.id)
    await journal.intent(effect)
    await journal.receipt(msgspec.structs.replace(effect, refused=True))
    assert store.in_doubt() == []
    await journal.intent(effect)
    assert store.effects(run.id) == [effect]


async def parked(store: Store) -> str:
    run = an_open_run()
    journal = await store.open(run, Durability.STEP)
    await journal.intent(an_effect(run.id))
    run.status, run.reason = RunStatus.PARKED, Reason.IN_DOUBT
    await journal.seal(run)
    return run.id


async def test_a_person_says_that_a_write_happened(store: Store) -> None:
    run_id = await parked(store)
    effect = store.settle_effect(
        run_id, "executor", response={"cancelled": "#W1"}, by="ann", reason="saw it in the shop"
    )
    assert (effect.in_doubt, effect.confirmed, orjson.loads(bytes(effect.receipt or b""))) == (
        False,
        True,
        {"cancelled": "#W1"},
    )
    assert store.in_doubt() == []
    assert store.claim(run_id).effects == [effect]
    (note,) = store.annotations(run_id)
    assert (note.name, note.value, note.path, note.by, note.reason) == (
        SETTLED,
        {"happened": True},
        "executor",
        "ann",
        "saw it in the shop",
    )


async def test_a_person_says_that_a_write_did_not_happen(store: Store) -> None:
    run_id = await parked(store)
    assert store.settle_effect(run_id, "executor", response=None).refused
    assert store.in_doubt() == []
    assert [note.value for note in store.annotations(run_id)] == [{"happened": False}]
    with pytest.raises(UsageError, match="has no write in doubt at 'executor'"):
        store.settle_effect(run_id, "executor", response=None)


async def test_a_write_of_a_running_run_is_not_a_persons_to_settle(store: Store) -> None:
    run = an_open_run()
    journal = await store.open(run, Durability.STEP)
    await journal.intent(an_effect(run.id))
    with pytest.raises(StoreError, match=r"is being executed by process .*; it may settle the write itself"):
        store.settle_effect(run.id, "executor", response=None)


# deleting


async def test_deleting_a_run_deletes_what_is_only_its(store: Store) -> None:
    shared, own = raw("s" * 9000), raw("o" * 9000)
    first, second = a_run(input=shared, output=own), a_run(input=shared)
    for run in (first, second):
        await record(store, run, Durability.STEP)
    assert store.stats().blobs == 2
    assert store.delete([first.id]) == 1
    stats = store.stats()
    assert (stats.runs, stats.steps, stats.blobs) == (1, 2, 1)
    assert canonical_run(store.get(second.id)) == canonical_run(second)
    assert store.delete([first.id]) == 0
    assert store.delete([second.id]) == 1
    assert store.stats().blobs == 0


async def test_a_run_in_execution_or_in_doubt_is_not_deleted(store: Store) -> None:
    running = an_open_run()
    await store.open(running, Durability.STEP)
    with pytest.raises(UsageError, match=r"is being executed by process .*; wait until it has ended"):
        store.delete([running.id])
    run_id = await parked(store)
    with pytest.raises(UsageError, match=r"has a write in doubt at 'executor'.*settle it first"):
        store.delete([run_id])
    assert store.delete([run_id], force=True) == 1
    assert store.in_doubt() == []


async def test_writes_in_doubt_of_any_number_of_runs_are_listed(store: Store) -> None:
    await record(store, a_run(), Durability.STEP)
    ids = [f"{number:08x}-0000-7000-8000-000000000000" for number in range(40_000)]
    with store._reader.snapshot() as connection:
        assert reading.load_in_doubt(connection, ids) == []
