"""One call, one run: what a store does with runs that answer the same call."""

import asyncio
from pathlib import Path

import pytest

from stretto.record.model import Run
from stretto.store.sqlite import Store
from stretto.types.enums import Durability, RunStatus
from stretto.types.errors import StoreError
from tests.unit.record.generated import a_run, an_open_run

KEY = "0192a1b2-0000-7000-8000-000000000001/pay"


def answering(status: RunStatus | None, key: str = KEY) -> Run:
    run = an_open_run() if status is None else a_run(status=status)
    run.effect_key = key
    return run


async def keep(store: Store, run: Run, durability: Durability = Durability.STEP) -> None:
    status, run.status = run.status, None
    journal = await store.open(run, durability)
    run.status = status
    if status is not None:
        await journal.seal(run)


@pytest.mark.parametrize("durability", Durability)
async def test_a_run_is_found_by_the_key_of_the_call_that_it_answers(store: Store, durability: Durability) -> None:
    run = answering(RunStatus.OK)
    await keep(store, run, durability)
    await keep(store, answering(RunStatus.OK, "another"), durability)
    (found,) = store.by_effect_key(run.manifest.workflow, KEY)
    assert (found.id, found.effect_key) == (run.id, KEY)
    assert store.by_effect_key("another workflow", KEY) == []


@pytest.mark.parametrize("status", [None, RunStatus.OK, RunStatus.DEGRADED, RunStatus.PARKED])
async def test_a_second_run_for_the_same_call_is_refused(store: Store, other: Store, status: RunStatus | None) -> None:
    await keep(store, answering(status))
    with pytest.raises(StoreError, match="another run answers the call") as raised:
        await keep(other, answering(None))
    assert raised.value.retryable


@pytest.mark.parametrize("status", [RunStatus.FAILED, RunStatus.EXPIRED, RunStatus.CANCELLED])
async def test_after_a_failure_the_call_may_be_answered_again(store: Store, status: RunStatus) -> None:
    first, second = answering(status), answering(None)
    await keep(store, first)
    await keep(store, second)
    assert [run.id for run in store.by_effect_key(first.manifest.workflow, KEY)] == sorted([first.id, second.id])


async def test_of_many_runs_that_begin_at_once_for_one_call_one_is_made(path: Path) -> None:
    with Store(path) as store:
        begun = await asyncio.gather(*(keep(store, answering(None)) for _ in range(20)), return_exceptions=True)
    assert sum(each is None for each in begun) == 1
    assert {type(each) for each in begun} == {type(None), StoreError}


async def test_runs_without_a_key_are_not_held_to_one(store: Store) -> None:
    for _ in range(2):
        await keep(store, answering(None, ""))
