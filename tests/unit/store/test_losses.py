"""What a store shows was lost or done twice: stores of real runs, which have no losses, and the same, damaged."""

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

import stretto
from stretto.store.losses import Loss, LossKind
from stretto.store.sqlite import Store

SHOP = """
stretto: 1
name: shop
durability: step
steps:
  - {name: look, component: look, input_mapping: {n: input.n}}
  - {name: left, component: look, input_mapping: {n: steps.look.n}}
  - {name: right, component: look, input_mapping: {n: steps.look.n}}
  - {name: join, component: both, input_mapping: {left: steps.left.n, right: steps.right.n}}
  - name: pay
    component: pay
    input_mapping: {n: steps.join.n}
    resilience: {retry: {attempts: 3, base: 1ms}, fallback: {component: owe}}
  - name: ask
    component: asks
    input_mapping: {n: steps.pay.n}
    resilience: {retry: {attempts: 2, base: 1ms}}
"""


PARTS = """
import stretto

failed = set()


def fail_once(what):
    if what not in failed:
        failed.add(what)
        raise stretto.ComponentError("not now", stretto.Code.UNAVAILABLE)


@stretto.component(effects="read")
async def look(n: int) -> dict:
    return {"n": n}


@stretto.component(effects="pure")
async def both(left: int, right: int) -> dict:
    return {"n": left + right}


@stretto.component(effects="write", idempotent=True)
async def owe(n: int) -> dict:
    return {"n": -n}


@stretto.component(effects="write", idempotent=True)
async def pay(n: int) -> dict:
    fail_once("pay")
    return {"n": n}


@stretto.component(effects="read")
async def asks(n: int, context: stretto.Context) -> dict:
    await context.call("look", n=n)
    await context.call("owe", n=n)
    fail_once("asks")
    return {"n": n}
"""
"""Of these the writing one and the asking one fail the first time."""


def opened(path: Path, text: str = SHOP, parts: str = PARTS) -> stretto.Workflow:
    (path.parent / "components.py").write_text(parts)
    (path.parent / "workflow.yaml").write_text(text)
    return stretto.load(path.parent / "workflow.yaml", store=path)


@pytest.fixture
def run_id(path: Path) -> str:
    """A run whose writes were tried twice, also inside a component that was."""
    with opened(path) as workflow:
        return workflow.run_sync({"n": 2}).id


Damage = Callable[..., None]


@pytest.fixture
def damage(path: Path) -> Damage:
    def execute(*statements: str) -> None:
        with sqlite3.connect(path) as connection:
            for statement in statements:
                assert connection.execute(statement).rowcount > 0
        connection.close()

    return execute


def found(path: Path) -> list[tuple[LossKind, str]]:
    with Store(path) as store:
        return [(loss.kind, loss.path) for loss in store.losses()]


ONE_BY_ONE = (
    "CREATE TABLE one AS SELECT run_id, seq, doc FROM steps",
    "DELETE FROM step_batches",
    "INSERT INTO step_batches SELECT run_id, seq, 1, doc, NULL FROM one",
)
"""Each step in a batch of its own, so that one of them can be taken away or doubled."""


def split(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        for statement in ONE_BY_ONE:
            connection.execute(statement)
    connection.close()


def test_runs_that_were_tried_again_lost_nothing_and_did_nothing_twice(path: Path, run_id: str) -> None:
    with Store(path) as store:
        again = [step.path for step in store.get(run_id).steps]
        assert len(again) > len(set(again)), "calls inside a component that is tried again repeat"
        assert [effect.path for effect in store.effects(run_id) if effect.receipt is not None]
        assert store.losses() == []


def test_replays_have_no_receipts_and_need_none(path: Path, run_id: str) -> None:
    with opened(path) as workflow:
        assert asyncio.run(workflow.replay(run_id)).steps
    assert found(path) == []


def test_a_step_whose_number_is_missing_was_lost(path: Path, run_id: str, damage: Damage) -> None:
    split(path)
    damage("DELETE FROM step_batches WHERE seq = 1")
    with Store(path) as store:
        assert store.losses() == [Loss(kind=LossKind.STEPS_LOST, run_id=run_id, path="")]


@pytest.mark.usefixtures("run_id")
def test_a_join_that_answered_twice_ran_twice(path: Path, damage: Damage) -> None:
    split(path)
    damage(
        "INSERT INTO step_batches SELECT run_id, (SELECT max(seq) + 1 FROM step_batches), 1, doc, NULL FROM one "
        "WHERE json_extract(doc, '$.path') = 'join'"
    )
    assert found(path) == [(LossKind.RAN_TWICE, "join")]


@pytest.mark.usefixtures("run_id")
def test_numbers_that_two_writers_gave_are_told(path: Path, damage: Damage) -> None:
    split(path)
    damage("UPDATE step_batches SET size = 2 WHERE seq = 0")
    assert found(path) == [(LossKind.RAN_TWICE, "")]


@pytest.mark.usefixtures("run_id")
def test_two_attempts_that_answered_changed_the_world_twice(path: Path, damage: Damage) -> None:
    split(path)
    damage(
        "UPDATE step_batches SET doc = json_remove(doc, '$.attempts[0].error') "
        "WHERE json_extract(doc, '$.path') = 'pay'"
    )
    assert found(path) == [(LossKind.EFFECT_DUPLICATED, "pay")]


LONG = "not now " * 1000


def test_attempts_that_are_kept_apart_since_they_are_long_are_looked_at(path: Path) -> None:
    with opened(path, parts=PARTS.replace('"not now"', repr(LONG))) as workflow:
        run_id = workflow.run_sync({"n": 2}).id
    with Store(path) as store:
        pay = next(step for step in store.get(run_id).steps if step.path == "pay")
        assert [attempt.error is None for attempt in pay.attempts] == [False, True]
        assert store.losses() == []
    with sqlite3.connect(path) as connection:
        changed = connection.execute(
            "UPDATE blobs SET content = CAST(json_remove(CAST(content AS TEXT), '$[0].error') AS BLOB) "
            "WHERE json_extract(CAST(content AS TEXT), '$[1]') IS NOT NULL"
        )
        assert changed.rowcount == 2, "of pay and of ask, which only reads"
    connection.close()
    assert found(path) == [(LossKind.EFFECT_DUPLICATED, "pay")]


@pytest.mark.usefixtures("run_id")
def test_a_write_and_its_fallbacks_were_both_made(path: Path, damage: Damage) -> None:
    damage(
        "INSERT INTO effects SELECT run_id, 'pay/fallback', state, request_digest, intended_at_ns, doc, spilled "
        "FROM effects WHERE path = 'pay'"
    )
    assert (LossKind.EFFECT_DUPLICATED, "pay") in found(path)


@pytest.mark.usefixtures("run_id")
def test_a_receipt_without_its_step_is_a_lost_write(path: Path, damage: Damage) -> None:
    damage(
        "INSERT INTO effects SELECT run_id, 'gone', state, request_digest, intended_at_ns, doc, spilled "
        "FROM effects WHERE path = 'pay'"
    )
    assert found(path) == [(LossKind.WRITE_LOST, "gone")]


@pytest.mark.usefixtures("run_id")
def test_a_write_that_answered_without_a_receipt_is_lost(path: Path, damage: Damage) -> None:
    damage("DELETE FROM effects WHERE path = 'pay'")
    assert found(path) == [(LossKind.WRITE_LOST, "pay")]


@pytest.mark.usefixtures("run_id")
def test_a_receipt_whose_run_is_gone_is_a_lost_write(path: Path, damage: Damage) -> None:
    damage("DELETE FROM runs", "DELETE FROM step_batches")
    assert {kind for kind, _ in found(path)} == {LossKind.WRITE_LOST}


@pytest.mark.usefixtures("run_id")
def test_a_run_under_way_may_have_a_receipt_before_its_step(path: Path, damage: Damage) -> None:
    split(path)
    damage(
        "UPDATE runs SET status = NULL",
        "DELETE FROM step_batches WHERE seq >= (SELECT min(seq) FROM one WHERE json_extract(doc, '$.path') = 'pay')",
    )
    assert found(path) == []


def test_under_another_durability_no_receipts_are_kept(path: Path) -> None:
    with opened(path, SHOP.replace("durability: step", "durability: run")) as workflow:
        assert workflow.run_sync({"n": 2}).status == "ok"
    assert found(path) == []
