"""A fallback is asked beside real traffic once a period, and what comes of it is kept."""

import asyncio
import logging
from pathlib import Path

import msgspec
import pytest

import stretto
from stretto.record.model import Annotation, Run
from stretto.runtime.exercising import ANNOTATION, NS, Exercise, last_exercises
from stretto.runtime.workflow import Workflow
from stretto.types.errors import UsageError
from stretto.types.json import JsonObject

COMPONENTS = """
import stretto

@stretto.component(effects="pure", inline=True)
def planner(n: int) -> dict[str, int]:
    if n < 0:
        raise ValueError("no")
    return {"n": n}

@stretto.component(effects="pure", inline=True)
def rules(n: int) -> dict[str, int]:
    return {"n": 100 if n == 13 else 0}
"""

WORKFLOW = """
stretto: 1
name: bank
contract: {input: {n: int}, output: {n: int}}
fallback:
  component: rules
  expectations: [{name: small, holds: "answer.n < 10"}]
  %s
steps: [{name: planner, component: planner, input_mapping: {n: "input.n"}}]
output: {n: "steps.planner.n"}
"""

DAY_NS = 86_400 * NS


@pytest.fixture
def bank(tmp_path: Path) -> Workflow:
    return made(tmp_path, "exercise: {every: 30d, share: 1}")


def made(folder: Path, exercise: str, components: str = COMPONENTS) -> Workflow:
    (folder / "components.py").write_text(components)
    (folder / "workflow.yaml").write_text(WORKFLOW % exercise)
    return stretto.load(folder / "workflow.yaml", store=folder / "runs.db")


def last_exercise(workflow: Workflow) -> Exercise | None:
    return last_exercises(workflow.store).get("bank")


async def settled(workflow: Workflow, n: int) -> Run:
    """A run, and what is done after it."""
    run = await workflow.run({"n": n})
    exercising = workflow._exercising  # nothing outside waits for it but closing
    if exercising is not None:
        await exercising.close()
    return run


async def test_the_first_run_begins_an_exercise_whatever_its_share(tmp_path: Path) -> None:
    workflow = made(tmp_path, "exercise: {share: 0.000001}")
    async with workflow:
        run = await settled(workflow, 1)
        await settled(workflow, 2)
    (annotation,) = workflow.store.annotations(run.id)
    assert annotation.name == ANNOTATION
    assert annotation.by == "exercise"
    found = last_exercise(workflow)
    assert found is not None
    assert len(found.results) == 1
    assert found.results[0].held
    assert found.began_at_ns == run.started_at_ns
    assert decoded_output(run) == 1


def decoded_output(run: Run) -> object:
    return msgspec.json.decode(bytes(run.output))["n"]


async def test_while_it_lasts_the_share_of_the_runs_asks_too(bank: Workflow) -> None:
    async with bank:
        for n in range(5):
            await settled(bank, n)
    found = last_exercise(bank)
    assert found is not None
    assert len(found.results) == 5


def test_a_script_that_closes_nothing_leaves_nothing_behind(bank: Workflow) -> None:
    run = bank.run_sync({"n": 1})
    assert [each.name for each in bank.store.annotations(run.id)] == [ANNOTATION]


def test_what_an_event_loop_left_behind_keeps_no_other_from_beginning(bank: Workflow) -> None:
    async def once() -> Run:
        return await bank.run({"n": 1})

    async def and_wait() -> Run:
        return await settled(bank, 2)

    asyncio.run(once())
    run = asyncio.run(and_wait())
    assert [each.name for each in bank.store.annotations(run.id)] == [ANNOTATION]


async def test_run_many_is_exercised_too_and_no_two_begin_at_once(bank: Workflow) -> None:
    async with bank:
        await bank.run_many([{"n": n} for n in range(20)])
    found = last_exercise(bank)
    assert found is not None
    began = {
        value["began_at_ns"] for _, each in bank.store.annotated(ANNOTATION) if isinstance(value := each.value, dict)
    }
    assert len(began) == 1


async def test_a_run_that_failed_and_rollouts_exercise_nothing(bank: Workflow) -> None:
    async with bank:
        await settled(bank, -1)
        async with bank.for_rollouts() as rollouts:
            await settled(rollouts, 1)
    assert last_exercise(bank) is None


async def test_an_answer_that_would_have_been_wrong_is_warned_of(
    bank: Workflow, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        async with bank:
            run = await settled(bank, 13)
    assert f"the fallback of workflow 'bank' would have failed run {run.id}: not as expected: small" in caplog.text
    found = last_exercise(bank)
    assert found is not None
    assert [each.broken for each in found.failures] == ['not as expected: small, of the answer {"n":100}']


async def test_another_process_goes_by_what_the_store_knows(tmp_path: Path) -> None:
    async with made(tmp_path, "exercise: {share: 1}") as first:
        await settled(first, 1)
    async with made(tmp_path, "exercise: {share: 0.000001}") as second:
        await settled(second, 2)
    found = last_exercise(second)
    assert found is not None
    assert len(found.results) == 1


async def test_what_was_changed_is_exercised_at_once(tmp_path: Path) -> None:
    async with made(tmp_path, "exercise: {share: 0.000001}") as first:
        old = await settled(first, 1)
    async with made(tmp_path, "exercise: {share: 0.000001}", COMPONENTS.replace("n == 13", "n == 7")) as second:
        run = await settled(second, 7)
        await settled(second, 7)
    digests = {workflow.component("rules").card.digest: each for workflow, each in ((first, old), (second, run))}
    found = {digest: last_exercises(second.store, of=digest)["bank"] for digest in digests}
    assert [(len(each.results), len(each.failures)) for each in found.values()] == [(1, 0), (1, 1)]
    assert last_exercise(second) == found[second.component("rules").card.digest]


@pytest.mark.parametrize(("days", "takes"), [(0.5, True), (1.5, False), (29.0, False), (31.0, True), (34.0, True)])
async def test_once_a_period_it_is_due(tmp_path: Path, days: float, takes: bool) -> None:
    workflow = made(tmp_path, "exercise: {every: 30d, share: 1}")
    async with made(tmp_path, "") as silent:
        old = await silent.run({"n": 0})
        began, digest = old.started_at_ns - int(days * DAY_NS), silent.component("rules").card.digest
        result: JsonObject = {"answered": True, "contract": True, "expectations": {}, "ms": 1.0}
        value: JsonObject = {
            "began_at_ns": began,
            "every_s": 30 * 86_400.0,
            "component": "rules",
            "digest": digest,
            "result": result,
        }
        silent.store.flush()
        silent.store.annotate(Annotation(run_id=old.id, name=ANNOTATION, value=value, at_ns=began))
    async with workflow:
        run = await settled(workflow, 1)
    assert bool(workflow.store.annotations(run.id)) is takes
    found = last_exercise(workflow)
    assert found is not None
    assert (found.began_at_ns == run.started_at_ns) is (days > 30)


async def test_it_is_stale_when_it_is_late_by_a_tenth_of_its_period(bank: Workflow) -> None:
    async with bank:
        run = await settled(bank, 1)
    found = last_exercise(bank)
    assert found is not None
    assert not found.is_stale(run.started_at_ns + 32 * DAY_NS)
    assert found.is_stale(run.started_at_ns + 34 * DAY_NS)


async def test_recorded_runs_are_exercised_by_hand(bank: Workflow) -> None:
    async with bank:
        runs = [await bank.run({"n": n}) for n in (1, 13)]
        found = await bank.exercise_fallback(runs)
    assert [each.held for each in found] == [True, False]


async def test_without_a_fallback_there_is_nothing_to_exercise(tmp_path: Path) -> None:
    (tmp_path / "components.py").write_text(COMPONENTS)
    (tmp_path / "workflow.yaml").write_text('steps: [{name: a, component: planner, input_mapping: {n: "input.n"}}]')
    async with stretto.load(tmp_path / "workflow.yaml", store=tmp_path / "runs.db") as workflow:
        with pytest.raises(UsageError, match="has no fallback to exercise"):
            await workflow.exercise_fallback([])


async def test_an_annotation_of_that_name_that_is_none_is_passed_over(bank: Workflow) -> None:
    async with bank:
        run = await settled(bank, 1)
        bank.store.annotate(Annotation(run_id=run.id, name=ANNOTATION, value="odd", at_ns=run.started_at_ns))
    found = last_exercise(bank)
    assert found is not None
    assert len(found.results) == 1
