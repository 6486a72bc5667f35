"""What a caller may ask of the store, and how it is told that it may not."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from stretto.record.model import Annotation
from stretto.store.reading import Filters
from stretto.store.sqlite import Store
from stretto.types.enums import Durability
from stretto.types.errors import NotJsonError, StoreError, UsageError
from tests.unit.record.generated import a_run, a_step
from tests.unit.store.test_journal import record

NAMES = "expected a run's id, the beginning of it, or its workflow_run_id"
STATUSES = "expected one of ok, degraded, business_fallback, failed, parked, cancelled, expired"


@pytest.fixture
def one(store: Store) -> Store:
    """A store with one run in it, which a careless prefix would find."""
    asyncio.run(record(store, a_run(), Durability.RUN))
    return store


FILTERS: list[tuple[dict[str, Any], str]] = [
    ({"user": "x"}, f"no filter 'user'; there are: {', '.join(Filters.__annotations__)}"),
    ({"limit": -1}, "limit is -1; expected a whole number from 0"),
    ({"limit": "5"}, "limit is '5'; expected"),
    ({"limit": 1.0}, "limit is 1.0; expected"),
    ({"limit": True}, "limit is True; expected"),
    ({"limit": 2**63}, "limit is 9223372036854775808; expected"),
    ({"status": "okk"}, f"status is 'okk'; {STATUSES}"),
    ({"status": 3}, f"status is 3; {STATUSES}"),
    ({"status": ["ok"]}, f"status is ['ok']; {STATUSES}"),
    ({"workflow": 3}, "workflow is 3; expected text"),
    ({"task": []}, "task is []; expected text"),
    ({"tenant": "\ud800"}, "which is no text in UTF-8"),
    ({"since_ns": "2025-11-29"}, "since_ns is '2025-11-29'; expected a whole number"),
    ({"since_ns": 1e18}, "since_ns is 1e+18; expected"),
    ({"since_ns": -(2**63) - 1}, "since_ns is -9223372036854775809; expected"),
]


@pytest.mark.parametrize(("filters", "says"), FILTERS)
def test_a_filter_that_is_none_is_refused_wherever_runs_are_chosen(
    one: Store, tmp_path: Path, filters: dict[str, Any], says: str
) -> None:
    out = tmp_path / "out.jsonl"
    for ask in (lambda: one.list(**filters), lambda: one.runs(**filters), lambda: one.export(out, **filters)):
        with pytest.raises(UsageError) as caught:
            ask()
        assert says in str(caught.value)
    assert not out.exists()


def test_no_limit_and_no_filter_may_be_said_with_none(one: Store) -> None:
    assert len(one.list(limit=None, task=None)) == 1  # type: ignore[arg-type]  # what an optional argument passes on
    assert one.list(limit=0) == []
    assert list(one.runs(limit=0)) == []


@pytest.mark.parametrize("run_id", ["", " ", ".", "workflow.", 3, None, b"01", ["01"], a_run()])
def test_what_cannot_name_a_run_is_refused_wherever_one_is_asked_for(one: Store, run_id: Any) -> None:
    asks: list[Callable[[], object]] = [
        lambda: one.get(run_id),
        lambda: one.effects(run_id),
        lambda: one.annotations(run_id),
        lambda: one.claim(run_id),
        lambda: one.delete([run_id]),
        lambda: one.settle_effect(run_id, "pay", response=None),
        lambda: one.annotate(Annotation(run_id=run_id, name="label", value=1, at_ns=1)),
    ]
    for ask in asks:
        with pytest.raises(UsageError, match=NAMES):
            ask()
    assert one.stats().runs == 1


@pytest.mark.parametrize("run_id", ["\ud800", "\ud800" * 36, "g", "0g", "%", "_", "é", "é" * 36, "\0"])
def test_what_is_in_no_id_finds_nothing(one: Store, run_id: str) -> None:
    with pytest.raises(UsageError, match=r"no run has an id that begins with|is not in|no text in UTF-8"):
        one.get(run_id)


@pytest.mark.parametrize("run_ids", ["0", "", b"0", 3, None])
def test_one_text_is_no_list_of_ids(one: Store, run_ids: Any) -> None:
    with pytest.raises(UsageError, match=r"run_ids is .*; expected a list"):
        one.delete(run_ids, force=True)
    assert one.stats().runs == 1


@pytest.mark.parametrize("given", ["", 3, None, b"runs.db", "runs\0.db", ["runs.db"]])
def test_what_is_no_path_is_refused(one: Store, given: Any) -> None:
    for ask in (lambda: Store(given), lambda: one.export(given), lambda: one.import_(given)):
        with pytest.raises(UsageError, match=r"expected (text or a pathlib|a path, which holds no NUL)"):
            ask()


def test_fsync_is_a_flag(path: Path) -> None:
    text: Any = "no"
    with pytest.raises(UsageError, match="fsync is 'no'; expected True or False"):
        Store(path, fsync=text)


def test_a_path_may_be_text(one: Store, tmp_path: Path) -> None:
    assert one.export(str(tmp_path / "a.jsonl"), blobs_dir=str(tmp_path / "blobs")) == 1
    assert one.import_(str(tmp_path / "a.jsonl"), blobs_dir=str(tmp_path / "blobs")).already_here == 1


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda store, run: store.annotations(run, as_of_ns="now"), "as_of_ns is 'now'; expected a whole number"),
        (lambda store, run: store.pending(1.5), "now_ns is 1.5; expected a whole number"),
        (lambda store, run: store.claim(run, owner=3), "owner is 3; expected text"),
        (lambda store, run: store.annotate(run), "an annotation is '01"),
        (lambda store, run: store.settle_effect(run, 3, response=None), "path is 3; expected text"),
        (lambda store, run: store.settle_effect(run, "pay", response=[1]), "response is [1]; expected the object"),
        (lambda store, run: store.settle_effect(run, "pay", response=None, by=3), "by is 3; expected text"),
    ],
)
def test_other_arguments_are_judged_too(one: Store, ask: Callable[[Store, str], object], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        ask(one, one.list()[0].id)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "error", "says"),
    [
        ({"name": 3}, UsageError, "the name of an annotation is 3; expected text"),
        ({"name": "\ud800"}, UsageError, "no text in UTF-8"),
        ({"reason": None}, UsageError, "the reason of an annotation is None; expected text"),
        ({"at_ns": "now"}, UsageError, "the at_ns of an annotation is 'now'; expected a whole number"),
        ({"at_ns": 2**63}, UsageError, "the at_ns of an annotation is"),
        ({"value": float("nan")}, NotJsonError, "the value of the annotation 'label' of run"),
        ({"value": {"a": object()}}, NotJsonError, "at /a"),
    ],
)
def test_an_annotation_that_cannot_be_kept_is_refused_with_all_others(
    one: Store, fields: dict[str, Any], error: type[Exception], says: str
) -> None:
    run_id = one.list()[0].id
    good = Annotation(run_id=run_id, name="label", value=1, at_ns=1)
    with pytest.raises(error) as caught:
        one.annotate(good, msgspec.structs.replace(good, **fields))
    assert says in str(caught.value)
    assert one.annotations(run_id) == []


def test_an_annotation_may_hold_what_encodes_to_json(one: Store) -> None:
    run_id = one.list()[0].id
    value: Any = np.array([1.0, 2.0])
    one.annotate(Annotation(run_id=run_id, name="scores", value=value, at_ns=1))
    assert [annotation.value for annotation in one.annotations(run_id)] == [[1.0, 2.0]]


async def test_only_a_run_that_is_there_is_said_to_be_there(store: Store) -> None:
    nobodys: Any = None
    with pytest.raises(StoreError, match=r"cannot be kept, its record is not whole: NOT NULL .*runs\.tenant"):
        await record(store, a_run(tenant=nobodys), Durability.RUN)
    with pytest.raises(StoreError, match=r"cannot be kept, its record is not whole: NOT NULL .*runs\.tenant"):
        await record(store, a_run(tenant=nobodys, steps=[a_step()]), Durability.STEP)
    run = a_run()
    await record(store, run, Durability.RUN)
    with pytest.raises(StoreError, match="is already in the store"):
        await record(store, run, Durability.RUN)
