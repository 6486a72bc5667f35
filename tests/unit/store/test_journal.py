import asyncio
import threading
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from stretto.record.canonical import canonical
from stretto.record.codec import encode_run
from stretto.record.model import Run
from stretto.record.recorder import Journal, Recorder
from stretto.store.batch import Write
from stretto.store.sqlite import Store
from stretto.types.enums import Durability, RunStatus
from stretto.types.errors import StoreError, UsageError
from tests.unit.record.bag import BlobBag
from tests.unit.record.generated import a_model_call, a_run, a_step, an_effect, an_open_run, any_run, raw

ALL = list(Durability)


def canonical_run(run: Run) -> bytes:
    return canonical(encode_run(run, BlobBag().put))


async def record(store: Recorder, run: Run, durability: Durability) -> Journal:
    """Make the calls that an engine makes for a run."""
    steps, status = run.steps, run.status
    run.steps, run.status = [], None
    journal = await store.open(run, durability)
    for step in steps:
        run.steps.append(step)
        journal.step(step)
    run.status = status
    await journal.seal(run)
    return journal


@pytest.mark.parametrize("durability", ALL)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(any_run)
def test_any_run_reads_back_as_it_was_sealed(store: Store, durability: Durability, run: Run) -> None:
    before = canonical_run(run)
    asyncio.run(record(store, run, durability))
    assert canonical_run(store.get(run.id)) == before


@pytest.mark.parametrize("durability", ALL)
async def test_what_was_sealed_survives_closing(path: Path, durability: Durability) -> None:
    run = a_run()
    with Store(path) as first:
        await record(first, run, durability)
    with Store(path) as second:
        assert canonical_run(second.get(run.id)) == canonical_run(run)
        assert second.stats().lost == 0


async def test_acceptance_is_committed_when_open_returns(store: Store, other: Store) -> None:
    run = an_open_run()
    await store.open(run, Durability.STEP)
    assert other.get(run.id).status is None


async def test_nothing_of_a_run_is_kept_before_its_seal_without_step_durability(store: Store, other: Store) -> None:
    run = an_open_run()
    journal = await store.open(run, Durability.RUN)
    journal.step(a_step())
    store.flush()
    assert other.stats().runs == other.stats().steps == 0


async def test_an_intent_commits_the_steps_before_it(store: Store, other: Store) -> None:
    run = an_open_run()
    journal = await store.open(run, Durability.STEP)
    journal.step(a_step("first"))
    await journal.intent(an_effect(run.id))
    assert [step.path for step in other.get(run.id).steps] == ["first"]
    assert [effect.in_doubt for effect in other.effects(run.id)] == [True]


def test_steps_are_written_behind_without_anyone_waiting(store: Store, other: Store) -> None:
    run = an_open_run()
    journal = asyncio.run(store.open(run, Durability.STEP))
    journal.step(a_step("first"))
    while not store._writer.inbox.idle:
        time.sleep(0)
    assert [step.path for step in other.get(run.id).steps] == ["first"]


async def test_a_step_that_cannot_be_encoded_is_said_at_the_next_call_and_harms_no_other_run(
    store: Store,
) -> None:
    run, beside = an_open_run(), an_open_run()
    journal, of_beside = await store.open(run, Durability.STEP), await store.open(beside, Durability.STEP)
    odd, plain = a_step("odd"), a_step("plain")
    odd.evidence = {"score": float("nan")}
    journal.step(odd)
    of_beside.step(plain)
    await asyncio.to_thread(store.flush)
    with pytest.raises(StoreError, match=f"a step of run {run.id} cannot be kept: nan is not JSON"):
        journal.step(a_step("next"))
    assert [step.path for step in store.get(beside.id).steps] == ["plain"]


async def test_a_durability_in_letters_is_refused_before_it_is_taken_for_another(store: Store) -> None:
    with pytest.raises(UsageError, match="the durability of a run is 'step'; expected a Durability"):
        await store.open(an_open_run(), "step")  # type: ignore[arg-type]


async def test_steps_that_only_the_seal_brings_are_kept_too(store: Store) -> None:
    run = an_open_run()
    journal = await store.open(run, Durability.STEP)
    journal.step(one := a_step("one"))
    run.steps = [one, a_step("two")]
    run.status = RunStatus.OK
    await journal.seal(run)
    assert canonical_run(store.get(run.id)) == canonical_run(run)


async def test_a_run_is_not_sealed_without_a_step_that_was_lost_behind_it(store: Store) -> None:
    run = an_open_run()
    journal = await store.open(run, Durability.STEP)
    store._writer.call(
        lambda connection: connection.execute(
            "CREATE TRIGGER full BEFORE INSERT ON step_batches BEGIN SELECT raise(ABORT, 'full'); END"
        )
    )
    hold_up(store)
    journal.step(step := a_step("lost"))
    behind = store._writer.inbox._queue[0]
    assert isinstance(behind, Write)
    behind.complete()  # as a commit does, before it fails
    run.steps, run.status = [step], RunStatus.OK
    sealing = asyncio.ensure_future(journal.seal(run))
    await asyncio.sleep(0)
    store._writer.inbox.give_back([])
    with pytest.raises(StoreError, match="cannot be kept, its record is not whole: full"):
        await sealing
    assert store.get(run.id).status is None


def hold_up(store: Store) -> None:
    """Let the writer take nothing until its inbox is given back."""
    while store._writer.inbox.borrow() is None:
        time.sleep(0)


async def test_the_order_of_the_sealed_run_is_kept(store: Store) -> None:
    run = an_open_run()
    journal = await store.open(run, Durability.STEP)
    one, two = a_step("one"), a_step("two")
    journal.step(one)
    journal.step(two)
    run.steps, run.status = [two, a_step("three"), one], RunStatus.DEGRADED
    await journal.seal(run)
    assert [step.path for step in store.get(run.id).steps] == ["two", "three", "one"]


async def test_a_run_is_sealed_once(store: Store) -> None:
    for durability in (Durability.STEP, Durability.RUN):
        run = a_run()
        journal = await record(store, run, durability)
        with pytest.raises(StoreError, match=r"no longer this journal's to write|already in the store"):
            await journal.seal(run)
        assert store.get(run.id).status is RunStatus.OK


async def test_a_run_id_is_used_once(store: Store) -> None:
    run = a_run()
    await record(store, run, Durability.RUN)
    with pytest.raises(StoreError, match=f"run {run.id} is already in the store; a run id is used once"):
        await store.open(an_open_run(id=run.id), Durability.STEP)


async def test_a_run_that_has_not_ended_cannot_be_sealed(store: Store) -> None:
    run = an_open_run()
    journal = await store.open(run, Durability.STEP)
    with pytest.raises(StoreError, match="has not ended; a run is sealed once it has a status"):
        await journal.seal(run)


async def test_a_bad_write_does_not_spoil_those_beside_it(store: Store) -> None:
    taken = a_run()
    await record(store, taken, Durability.STEP)
    runs = [a_run() for _ in range(20)]
    again = an_open_run(id=taken.id)
    outcomes = await asyncio.gather(
        *(record(store, run, Durability.STEP) for run in runs[:10]),
        store.open(again, Durability.STEP),
        *(record(store, run, Durability.STEP) for run in runs[10:]),
        return_exceptions=True,
    )
    assert [type(outcome) for outcome in outcomes if isinstance(outcome, Exception)] == [StoreError]
    assert store.stats().runs == 21
    assert store.lost == 0


async def test_a_time_beyond_64_bits_is_refused(store: Store) -> None:
    run = an_open_run(started_at_ns=2**70)
    with pytest.raises(StoreError, match="a time beyond 64-bit nanoseconds"):
        await store.open(run, Durability.STEP)


async def test_many_runs_at_once_are_all_kept(store: Store) -> None:
    runs = [a_run(labels={"task": str(n)}) for n in range(300)]
    await asyncio.gather(*(record(store, run, ALL[n % 3]) for n, run in enumerate(runs)))
    assert {run.id for run in store.runs()} == {run.id for run in runs}
    assert (store.stats().steps, store.stats().lost) == (600, 0)


def test_several_event_loops_may_write_at_once(store: Store) -> None:
    def work() -> None:
        async def many() -> None:
            await asyncio.gather(*(record(store, a_run(), Durability.STEP) for _ in range(20)))

        asyncio.run(many())

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.stats().runs == 60


async def test_a_cancelled_seal_is_committed_all_the_same(store: Store) -> None:
    for _ in range(2):  # runs beside it: a lone one is committed at once and cannot be cancelled
        await store.open(an_open_run(), Durability.STEP)
    run = a_run(steps=[])
    journal = await store.open(run, Durability.RUN)
    task = asyncio.ensure_future(journal.seal(run))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    store.flush()
    assert store.get(run.id).status is RunStatus.OK


# large values


async def test_large_values_are_kept_once_per_tenant_and_read_back(store: Store) -> None:
    large = raw({"text": "x" * 10_000})
    runs = [a_run(tenant=tenant, input=large, output=large, steps=[a_step(output=large)]) for tenant in "aab"]
    for run in runs:
        await record(store, run, Durability.STEP)
    assert store.stats().blobs == 2
    for run in runs:
        assert canonical_run(store.get(run.id)) == canonical_run(run)


async def test_a_value_that_looks_like_a_marker_is_only_a_value(store: Store) -> None:
    marker = raw({"$blob": "0" * 64, "bytes": 5000})
    run = a_run(input=marker, output=raw({"x": "y" * 5000}), steps=[a_step(input=marker, output=marker)])
    await record(store, run, Durability.STEP)
    assert canonical_run(store.get(run.id)) == canonical_run(run)


async def test_large_labels_stay_where_listings_read_them(store: Store) -> None:
    run = a_run(labels={"note": "x" * 6000}, input=raw("y" * 6000))
    await record(store, run, Durability.RUN)
    assert store.list()[0].labels == run.labels


async def test_arrays_come_back_with_their_types(store: Store) -> None:
    call = a_model_call(tokens=2000)
    run = a_run(steps=[a_step(model_calls=(call,))])
    await record(store, run, Durability.STEP)
    again = store.get(run.id).steps[0].model_calls[0]
    assert again.logprobs is not None
    assert again.logprobs.dtype == np.float32
    np.testing.assert_array_equal(again.logprobs, call.logprobs)


async def test_a_large_effect_reads_back(store: Store) -> None:
    run = an_open_run()
    journal = await store.open(run, Durability.STEP)
    effect = an_effect(run.id, request=raw({"text": "x" * 9000}))
    await journal.intent(effect)
    effect.receipt, effect.received_at_ns = raw({"text": "y" * 9000}), 9
    await journal.receipt(effect)
    assert store.effects(run.id) == [effect]


async def test_the_log_is_copied_into_the_file_before_it_grows_large(store: Store, path: Path) -> None:
    for _ in range(500):
        await record(store, a_run(output=raw("x" * 100_000)), Durability.RUN)
    assert path.with_name(f"{path.name}-wal").stat().st_size < 40_000_000


def test_the_log_does_not_grow_without_end_where_several_write_at_once(path: Path) -> None:
    def write(store: Store) -> None:
        async def main() -> None:
            for _ in range(1_000):
                run = a_run(output=raw("x" * 30_000))
                journal = await store.open(msgspec.structs.replace(run, status=None, steps=[]), Durability.STEP)
                await journal.seal(run)

        asyncio.run(main())

    with Store(path) as first, Store(path) as second, Store(path) as third:
        threads = [threading.Thread(target=write, args=(store,)) for store in (first, second, third)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        log_bytes = path.with_name(f"{path.name}-wal").stat().st_size
    assert (
        log_bytes < 110_000_000
    )  # 150 MB without a bound; three on a busy machine add to it while one makes them wait


async def test_a_run_that_is_cancelled_while_it_is_accepted_is_sealed_so(store: Store, other: Store) -> None:
    """Else it would wait for ever to be resumed, though nobody wants it any more."""
    run = an_open_run()
    opening = asyncio.create_task(store.open(run, Durability.STEP))
    await asyncio.sleep(0)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert other.get(run.id).status is RunStatus.CANCELLED
    assert other.pending() == []
