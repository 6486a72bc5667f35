"""The door to everything: run, run many, resume, settle and replay."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

import stretto
from stretto import Context, Run, RunRequest, Workflow
from stretto.components.python.decorator import component_of
from stretto.record.model import decoded
from stretto.store.sqlite import Store
from stretto.testing import run_virtual
from stretto.types.budget import BudgetSpec
from stretto.types.enums import Durability, Reason, RunStatus, StepStatus
from stretto.types.errors import Code, ComponentError, InputError, ReplayError, SpecError, StoreError, UsageError
from stretto.types.ids import new_run_id
from stretto.types.protocols import Component
from tests.unit.runtime.conftest import WorkflowOf

ONE = """
stretto: 1
name: one
durability: none
contract: {input: {n: int}, output: {n: int}}
steps:
  - {name: work, component: work, input_mapping: {n: input.n}}
output: {n: steps.work.n}
"""

PAYING = """
stretto: 1
name: paying
durability: step
steps:
  - {name: check, component: check, input_mapping: {amount: input.amount}}
  - {name: pay, component: pay, input_mapping: {amount: steps.check.amount}}
output: {paid: steps.pay.paid}
"""


SPENDING = """
stretto: 1
name: spending
durability: step
steps:
  - {name: a, component: a, resilience: {fallback: {output: {said: plain}}}}
  - {name: b, component: b, needs: [a]}
  - {name: c, component: c, needs: [b]}
output: {said: steps.c.said}
"""


class Said(msgspec.Struct):
    said: str


class Paid(msgspec.Struct):
    paid: int


class Bank:
    """A `check` and a `pay` that count their calls; the line goes dead at the first payments."""

    def __init__(self, dead: int = 0) -> None:
        self.checked = 0
        self.asked_to_pay = 0
        bank = self

        @stretto.component("check", "1.0.0", effects="pure", inline=True)
        def check(amount: int) -> dict[str, int]:
            bank.checked += 1
            return {"amount": min(amount, 100)}

        @stretto.component("pay", "1.0.0", effects="write", inline=True)
        def pay(amount: int) -> Paid:
            bank.asked_to_pay += 1
            if bank.asked_to_pay <= dead:
                raise OSError("the line went dead")
            return Paid(paid=amount)

        self.components = (check, pay)


def spending(seen: list[tuple[dict[str, str], dict[str, str]]] | None = None, broken: str = "") -> tuple[Any, ...]:
    """Components that use 10 tokens each, note what travelled with the run, and may break their schema."""

    def named(name: str) -> Any:
        @stretto.component(name, effects="pure")
        async def say(context: Context) -> Said:
            context.usage(output_tokens=10)
            if seen is not None:
                seen.append((dict(context.run.baggage), context.run.trace))
            return Said(3 if name == broken else name)  # type: ignore[arg-type]  # the mistake that was paid for

        return say

    return tuple(map(named, "abc"))


def doubling() -> Any:
    """A component that doubles a number."""

    @stretto.component("work", "1.0.0", effects="pure")
    async def work(n: int) -> dict[str, int]:
        return {"n": 2 * n}

    return work


def sleeping(seconds: Callable[[int], float], at_work: list[int] | None = None) -> Any:
    """A component that takes a time by its number, and notes how many are at work as it begins."""
    active = 0

    @stretto.component("work", effects="pure")
    async def work(n: int) -> dict[str, int]:
        nonlocal active
        active += 1
        if at_work is not None:
            at_work.append(active)
        await asyncio.sleep(seconds(n))
        active -= 1
        return {"n": n}

    return work


def component(declared: object) -> Component:
    found = component_of(declared)
    assert found is not None
    return found


def numbers(runs: list[Run]) -> list[int]:
    return [decoded(run.output)["n"] for run in runs]


class TestRun:
    async def test_what_was_asked_stands_in_the_record_and_in_the_store(self, workflow_of: WorkflowOf) -> None:
        workflow = workflow_of(ONE, doubling())
        asked: dict[str, Any] = {"labels": {"task": "t"}, "tenant": "acme", "seed": 5, "reference": [1]}
        async with workflow:
            run = await workflow.run({"n": 2}, resources={"r": 1}, memory={"m": 2}, **asked)
        kept = workflow.store.get(run.id)
        assert {name: getattr(kept, name) for name in ("labels", "tenant", "seed")} | {
            "reference": decoded(kept.reference)
        } == asked
        assert (decoded(kept.resources), decoded(kept.memory), decoded(kept.output)) == ({"r": 1}, {"m": 2}, {"n": 4})

    async def test_baggage_reaches_components_and_only_its_names_are_recorded(self, workflow_of: WorkflowOf) -> None:
        seen = []

        @stretto.component("work", effects="pure")
        async def work(n: int, context: Context) -> dict[str, int]:
            seen.append((dict(context.run.baggage), context.run.trace))
            return {"n": n}

        async with workflow_of(ONE, work) as workflow:
            trace = {"traceparent": "00-1-2-01", "tracestate": "v=1"}
            asked = RunRequest(input={"n": 1}, baggage={"key": "secret"}, traceparent="00-1-2-01", tracestate="v=1")
            run = await workflow.run_request(asked)
        assert seen == [({"key": "secret"}, trace)]
        assert (run.baggage, run.traceparent, run.tracestate) == (("key",), *trace.values())
        written = b"".join(file.read_bytes() for file in workflow.store.path.parent.glob("runs.db*"))
        assert b"00-1-2-01" in written
        assert b"secret" not in written

    async def test_a_budget_of_the_run_stands_in_place_of_the_workflows(self, workflow_of: WorkflowOf) -> None:
        workflow = workflow_of(ONE.replace("steps:", "budget: {retries: 9}\nsteps:", 1).replace(
            "input.n}}", "input.n}, resilience: {retry: {attempts: 4, base: 1ms}}}"
        ), failing())  # fmt: skip
        async with workflow:
            own = await workflow.run({"n": 1}, budget=BudgetSpec(retries=1))
            plain = await workflow.run({"n": 1})
        assert (own.retries, plain.retries) == (1, 3)

    async def test_an_input_that_breaks_the_contract_makes_no_run(self, workflow_of: WorkflowOf) -> None:
        async with workflow_of(ONE, doubling()) as workflow:
            with pytest.raises(InputError, match="the input of workflow 'one'") as caught:
                await workflow.run({"n": "two"})
        assert [violation.pointer for violation in caught.value.violations] == ["/n"]
        assert workflow.store.list() == []

    def test_cancelling_seals_the_run_as_cancelled(self, workflow_of: WorkflowOf) -> None:
        workflow = workflow_of(ONE, sleeping(lambda n: 60 * n))

        async def main() -> None:
            async with workflow:
                await workflow.run({"n": 0})
                task = asyncio.ensure_future(workflow.run({"n": 1}))
                await asyncio.sleep(1)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task

        run_virtual(main())
        _, cancelled = workflow.store.runs()
        assert (cancelled.status, cancelled.reason) == (RunStatus.CANCELLED, Reason.CANCELLED)

    async def test_nothing_is_on_disk_before_the_first_run(self, workflow_of: WorkflowOf) -> None:
        workflow = workflow_of(ONE, doubling())
        assert not workflow.store.path.exists()
        async with workflow:
            await workflow.run({"n": 1})
        assert workflow.store.path.exists()


def failing() -> Any:
    """A component that is always away."""

    @stretto.component("work", effects="pure")
    async def work(n: int) -> dict[str, int]:
        raise ComponentError("away", Code.UNAVAILABLE)

    return work


class TestRunSync:
    def test_it_takes_the_options_of_run(self, workflow_of: WorkflowOf) -> None:
        with workflow_of(ONE, doubling()) as workflow:
            run = workflow.run_sync({"n": 3}, labels={"task": "t"}, seed=7)
        assert (numbers([run]), run.labels, run.seed) == ([6], {"task": "t"}, 7)

    def test_calls_share_one_event_loop_until_the_workflow_is_closed(self, workflow_of: WorkflowOf) -> None:
        loops = []

        @stretto.component("work", effects="pure")
        async def work(n: int) -> dict[str, int]:
            loops.append(asyncio.get_running_loop())
            return {"n": n}

        workflow = workflow_of(ONE, work)
        for _ in range(2):
            workflow.run_sync({"n": 1})
        workflow.close()
        workflow.run_sync({"n": 1})
        workflow.close()
        first, second, third = loops
        assert first is second
        assert first is not third
        assert first.is_closed()

    async def test_inside_an_event_loop_it_says_what_to_do(self, workflow_of: WorkflowOf) -> None:
        workflow = workflow_of(ONE, doubling())
        with pytest.raises(UsageError, match=r"use `await workflow\.run\(\.\.\.\)`"):
            workflow.run_sync({"n": 1})
        with pytest.raises(UsageError, match="an event loop is running here"):
            workflow.close()

    def test_closing_a_workflow_that_never_ran_does_nothing(self, workflow_of: WorkflowOf) -> None:
        workflow = workflow_of(ONE, doubling())
        workflow.close()
        workflow.close()
        assert not workflow.store.path.exists()


class TestRunMany:
    def test_runs_come_in_the_order_of_the_requests_whichever_ends_first(self, workflow_of: WorkflowOf) -> None:
        workflow = workflow_of(ONE, sleeping(lambda n: 10 - n))
        ended: list[Run] = []

        async def main() -> list[Run]:
            async with workflow:
                return await workflow.run_many([{"n": n} for n in range(5)], on_run=ended.append)

        assert numbers(run_virtual(main())) == [0, 1, 2, 3, 4]
        assert numbers(ended) == [4, 3, 2, 1, 0]

    @pytest.mark.parametrize(("concurrency", "most", "takes_s"), [(1, 1, 10), (3, 3, 4), (10, 10, 1), (99, 10, 1)])
    def test_no_more_are_at_work_than_was_said_and_no_fewer(
        self, workflow_of: WorkflowOf, concurrency: int, most: int, takes_s: int
    ) -> None:
        at_work: list[int] = []
        workflow = workflow_of(ONE, sleeping(lambda _: 1.0, at_work))

        async def main() -> float:
            async with workflow:
                await workflow.run_many([{"n": n} for n in range(10)], concurrency=concurrency)
            return asyncio.get_running_loop().time()

        assert run_virtual(main()) == takes_s
        assert max(at_work) == most

    async def test_a_failed_run_is_an_entry_like_any_other(self, workflow_of: WorkflowOf) -> None:
        @stretto.component("work", effects="pure")
        async def work(n: int) -> dict[str, int]:
            return {"n": 12 // n}

        async with workflow_of(ONE, work) as workflow:
            runs = await workflow.run_many([{"n": n} for n in (3, 0, 4)], concurrency=1)
        assert [run.status for run in runs] == [RunStatus.OK, RunStatus.FAILED, RunStatus.OK]
        assert {run.id for run in runs} == {run.id for run in workflow.store.runs()}

    async def test_requests_and_inputs_may_be_mixed_and_come_from_a_generator(self, workflow_of: WorkflowOf) -> None:
        def asked() -> Iterator[RunRequest | dict[str, object]]:
            yield {"n": 1}
            yield RunRequest(input={"n": 2}, seed=9, tenant="acme")

        async with workflow_of(ONE, doubling()) as workflow:
            plain, full = await workflow.run_many(asked())
        assert numbers([plain, full]) == [2, 4]
        assert (full.seed, full.tenant, plain.tenant) == (9, "acme", "default")

    async def test_none_makes_none(self, workflow_of: WorkflowOf) -> None:
        async with workflow_of(ONE, doubling()) as workflow:
            assert await workflow.run_many([]) == []

    @pytest.mark.parametrize("concurrency", [0, -1])
    async def test_a_concurrency_that_would_do_nothing_is_refused(
        self, workflow_of: WorkflowOf, concurrency: int
    ) -> None:
        with pytest.raises(UsageError, match=f"concurrency is {concurrency}; expected a whole number from 1"):
            await workflow_of(ONE, doubling()).run_many([{"n": 1}], concurrency=concurrency)

    async def test_one_bad_input_is_told_by_its_place_before_anything_is_run(self, workflow_of: WorkflowOf) -> None:
        async with workflow_of(ONE, doubling()) as workflow:
            with pytest.raises(InputError, match="request 1: the input of workflow 'one' does not fit"):
                await workflow.run_many([{"n": 1}, {"n": "two"}, {"n": 3}])
        assert workflow.store.list() == []

    def test_what_on_run_raises_is_raised_as_it_is_and_ends_the_others(self, workflow_of: WorkflowOf) -> None:
        workflow = workflow_of(ONE, sleeping(float))

        def refuse(run: Run) -> None:
            raise ValueError(f"no more after {decoded(run.output)['n']}")

        async def main() -> None:
            async with workflow:
                with pytest.raises(ValueError, match="no more after 1"):
                    await workflow.run_many([{"n": n} for n in (1, 2, 3)], concurrency=2, on_run=refuse)

        run_virtual(main())
        assert sorted(run.status or "" for run in workflow.store.runs()) == [RunStatus.CANCELLED, RunStatus.OK]

    def test_cancelling_seals_those_under_way_and_begins_no_other(self, workflow_of: WorkflowOf) -> None:
        workflow = workflow_of(ONE, sleeping(lambda n: 60 * n))

        async def main() -> None:
            async with workflow:
                await workflow.run({"n": 0})
                task = asyncio.ensure_future(workflow.run_many([{"n": n} for n in range(1, 6)], concurrency=2))
                await asyncio.sleep(1)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task

        run_virtual(main())
        assert [run.status for run in workflow.store.runs()] == [RunStatus.OK, *[RunStatus.CANCELLED] * 2]


class TestResume:
    async def interrupted(self, workflow: Workflow, run_input: dict[str, object], **asked: Any) -> Run:
        """A run whose process was gone after its first step."""
        whole = await workflow.run_request(RunRequest(input=run_input, **asked))
        cut = msgspec.structs.replace(whole, id=new_run_id(), status=None, steps=[], output=msgspec.Raw(b"null"))
        journal = await workflow.store.open(cut, Durability.STEP)
        journal.step(whole.steps[0])
        workflow.store.flush()
        return cut

    async def test_what_was_recorded_is_not_done_again(self, workflow_of: WorkflowOf) -> None:
        bank = Bank()
        async with workflow_of(PAYING, *bank.components) as workflow:
            cut = await self.interrupted(workflow, {"amount": 250})
            ended = await workflow.resume(cut.id)
        assert (ended.id, ended.status, decoded(ended.output)) == (cut.id, RunStatus.OK, {"paid": 100})
        assert (bank.checked, bank.asked_to_pay) == (1, 2)

    async def test_it_goes_on_within_its_own_budget_and_what_was_spent_stays_spent(
        self, workflow_of: WorkflowOf
    ) -> None:
        workflow = workflow_of(SPENDING, *spending())
        budget = BudgetSpec(tokens=20, deadline=timedelta(minutes=5))
        cut = await self.interrupted(workflow, {}, budget=budget)
        ended = await workflow.resume(cut.id)
        assert [(step.path, step.status) for step in ended.steps] == [("a", "ok"), ("b", "ok"), ("c", "failed")]
        assert (ended.status, ended.reason) == (RunStatus.FAILED, Reason.BUDGET)
        assert ended.budget is not None
        assert ended.budget.spec == budget

    async def test_answers_that_were_paid_for_in_vain_stay_spent_as_well(self, workflow_of: WorkflowOf) -> None:
        workflow = workflow_of(SPENDING, *spending(broken="a"))
        whole = await workflow.run({}, budget=BudgetSpec(tokens=20))
        cut = await self.interrupted(workflow, {}, budget=BudgetSpec(tokens=20))
        ended = await workflow.resume(cut.id)
        assert (whole.reason, ended.reason) == (Reason.BUDGET, Reason.BUDGET)
        assert [step.path for step in ended.steps if step.status is StepStatus.FAILED] == ["c"]

    async def test_its_trace_goes_on_and_its_baggage_must_be_given_again(self, workflow_of: WorkflowOf) -> None:
        seen: list[tuple[dict[str, str], dict[str, str]]] = []
        workflow = workflow_of(SPENDING, *spending(seen))
        baggage, trace = {"key": "secret", "url": "x"}, {"traceparent": "00-1-2-01", "tracestate": "v=1"}
        cut = await self.interrupted(workflow, {}, baggage=baggage, **trace)
        with pytest.raises(UsageError, match=r"give it again to resume the run: baggage=\{'url': \.\.\.\}"):
            await workflow.resume(cut.id, baggage={"key": "secret"})
        with pytest.raises(UsageError, match=r"baggage\['key'\] is 3; expected text"):
            await workflow.resume(cut.id, baggage={"key": 3, "url": "x"})  # type: ignore[dict-item]
        ended = await workflow.resume(cut.id, baggage=baggage)
        assert (ended.status, ended.baggage, ended.traceparent) == (RunStatus.OK, ("key", "url"), "00-1-2-01")
        assert seen == [(baggage, trace)] * 5

    async def test_another_version_is_refused_and_the_run_left_as_it_was(
        self, workflow_of: WorkflowOf, tmp_path: Path
    ) -> None:
        workflow = workflow_of(PAYING, *Bank().components)
        cut = await self.interrupted(workflow, {"amount": 250})

        @stretto.component("check", "2.0.0", effects="pure", inline=True)
        def check(amount: int) -> dict[str, int]:
            return {"amount": amount}

        with pytest.raises(ReplayError, match="changed since: check"):
            await workflow.with_component(component(check)).resume(cut.id)
        assert (await workflow.resume(cut.id)).status is RunStatus.OK

    async def test_a_run_that_has_ended_is_refused(self, workflow_of: WorkflowOf) -> None:
        workflow = workflow_of(PAYING, *Bank().components)
        run = await workflow.run({"amount": 1})
        with pytest.raises(UsageError, match="has ended"):
            await workflow.resume(run.id)

    async def test_a_run_that_is_not_there_is_told(self, workflow_of: WorkflowOf) -> None:
        for run_id, message in (("0190", "no run has an id that begins with '0190'"), ("last", "holds no runs yet")):
            with pytest.raises(UsageError, match=message):
                await workflow_of(PAYING, *Bank().components).resume(run_id)

    async def test_of_two_who_take_a_run_over_one_is_refused(self, workflow_of: WorkflowOf) -> None:
        bank = Bank()
        workflow = workflow_of(PAYING, *bank.components)
        cut = await self.interrupted(workflow, {"amount": 250})
        results = await asyncio.gather(*(workflow.resume(cut.id) for _ in range(2)), return_exceptions=True)
        (refused,) = (result for result in results if not isinstance(result, Run))
        assert isinstance(refused, StoreError | UsageError)
        assert bank.asked_to_pay == 2


class TestSettle:
    @pytest.fixture
    def bank(self) -> Bank:
        return Bank(dead=1)

    @pytest.fixture
    def workflow(self, workflow_of: WorkflowOf, bank: Bank) -> Workflow:
        return workflow_of(PAYING, *bank.components)

    async def test_a_write_that_happened_is_not_made_again(self, workflow: Workflow, bank: Bank) -> None:
        parked = await workflow.run({"amount": 30})
        assert parked.status is RunStatus.PARKED
        effect = await workflow.settle(parked.id, "pay", response={"paid": 30}, by="ada", reason="seen")
        ended = await workflow.resume(parked.id)
        assert not effect.in_doubt
        assert (decoded(ended.output), bank.asked_to_pay) == ({"paid": 30}, 1)
        assert [(note.path, note.by) for note in workflow.store.annotations(parked.id)] == [("pay", "ada")]

    async def test_a_write_that_did_not_happen_is_made_again(self, workflow: Workflow, bank: Bank) -> None:
        parked = await workflow.run({"amount": 30})
        await workflow.settle(parked.id, "pay", response=None)
        ended = await workflow.resume(parked.id)
        assert (ended.status, decoded(ended.output), bank.asked_to_pay) == (RunStatus.OK, {"paid": 30}, 2)

    @pytest.mark.parametrize(
        "labels",
        [
            {"purpose": "train"},
            {"purpose": "train", "task": "t"},
            {"purpose": "train", "task": "t", "group": "t"},
            {"purpose": "train", "task": "t", "group": "a/t"},
            {"purpose": "train", "task": "t", "group": "1/u"},
            {"purpose": "train", "group": "1/"},
            {"purpose": "test", "task": "t", "group": "1/t"},
        ],
    )
    async def test_no_label_of_the_callers_own_keeps_a_run_from_going_on(
        self, workflow: Workflow, labels: dict[str, str]
    ) -> None:
        parked = await workflow.run({"amount": 30}, labels=labels)
        await workflow.settle(parked.id, "pay", response={"paid": 30})
        assert (await workflow.resume(parked.id)).status is RunStatus.OK

    async def test_an_answer_that_the_component_could_not_have_given_settles_nothing(self, workflow: Workflow) -> None:
        parked = await workflow.run({"amount": 30})
        with pytest.raises(InputError, match="the answer given for 'pay', a write of 'pay', does not fit") as caught:
            await workflow.settle(parked.id, "pay", response={"paid": "all"})
        assert [violation.pointer for violation in caught.value.violations] == ["/paid"]
        assert [effect.in_doubt for effect in workflow.store.effects(parked.id)] == [True]

    async def test_a_write_that_is_not_there_is_told(self, workflow: Workflow) -> None:
        parked = await workflow.run({"amount": 30})
        with pytest.raises(UsageError):
            await workflow.settle(parked.id, "refund", response={"paid": 30})


class TestReplay:
    async def test_a_run_may_be_given_by_its_id_or_as_the_last(self, workflow_of: WorkflowOf) -> None:
        async with workflow_of(PAYING, *Bank().components) as workflow:
            runs = [await workflow.run({"amount": amount}) for amount in (1, 2)]
            for given, meant in ((runs[0].id, runs[0]), (runs[0].workflow_run_id, runs[0]), ("last", runs[1])):
                again = await workflow.replay(given)
                assert (again.replay_of, again.output_value) == (meant.id, meant.output_value)
                await asyncio.to_thread(workflow.store.delete, [again.id])
            with pytest.raises(UsageError, match="no run has an id that begins with 'nope'"):
                await workflow.replay("nope")

    async def test_what_did_not_change_is_taken_from_the_record(self, workflow_of: WorkflowOf) -> None:
        bank = Bank()
        async with workflow_of(PAYING, *bank.components) as workflow:
            run = await workflow.run({"amount": 30}, labels={"task": "t"}, tenant="acme", seed=4, reference="gold")
            again = await workflow.replay(run)
        assert (bank.checked, bank.asked_to_pay) == (1, 1)
        assert again.output == run.output
        assert (again.replay_of, again.labels) == (run.id, {"task": "t", "purpose": "replay"})
        assert (again.tenant, again.seed, decoded(again.reference)) == ("acme", 4, "gold")

    async def test_another_input_is_run_for_what_reads_it(self, workflow_of: WorkflowOf) -> None:
        async with workflow_of(ONE, doubling()) as workflow:
            again = await workflow.replay(await workflow.run({"n": 1}), run_input={"n": 5})
            with pytest.raises(InputError):
                await workflow.replay(again, run_input={"n": "six"})
        assert (numbers([again]), again.simulated) == ([10], True)

    async def test_another_version_of_a_component_is_called(self, workflow_of: WorkflowOf) -> None:
        workflow = workflow_of(ONE, doubling())
        run = await workflow.run({"n": 3})

        @stretto.component("work", "2.0.0", effects="pure")
        async def work(n: int) -> dict[str, int]:
            return {"n": 3 * n}

        again = await workflow.with_component(component(work)).replay(run)
        assert (numbers([again]), again.simulated, again.steps[0].reused_from) == ([9], False, "")

    @pytest.mark.parametrize(
        ("outputs", "error", "says"),
        [
            ({"chek": {"amount": 1}}, ReplayError, "has no step 'chek'; it has: check, pay"),
            ({"pay": {"paid": "all"}}, InputError, "the output given for 'pay', a call of 'pay', does not fit"),
            ({"pay": {}}, InputError, '"paid" is a required property'),
            ({"pay": 3}, InputError, '3 is not of type "object"'),
            ({"check": {"amount": float("nan")}}, InputError, "the output given for 'check'.*\n.*/amount"),
        ],
    )
    async def test_an_output_that_no_step_could_have_had_is_refused_before_anything_is_run(
        self, workflow_of: WorkflowOf, outputs: dict[str, Any], error: type[Exception], says: str
    ) -> None:
        workflow = workflow_of(PAYING, *Bank().components)
        run = await workflow.run({"amount": 30})
        with pytest.raises(error, match=says):
            await workflow.replay(run, outputs=outputs)
        assert [kept.id for kept in workflow.store.list()] == [run.id]


class TestWithComponent:
    async def test_the_original_stays_as_it_was_and_both_keep_their_runs_in_one_store(
        self, workflow_of: WorkflowOf
    ) -> None:
        workflow = workflow_of(ONE, doubling())

        @stretto.component("work", "2.0.0", effects="pure")
        async def work(n: int) -> dict[str, int]:
            return {"n": 3 * n}

        changed = workflow.with_component(component(work))
        assert numbers([await workflow.run({"n": 1}), await changed.run({"n": 1})]) == [2, 3]
        await workflow.aclose()
        await changed.aclose()
        assert sorted(numbers(list(workflow.store.runs()))) == [2, 3]

    def test_a_component_that_the_workflow_does_not_have_is_refused_with_those_it_has(
        self, workflow_of: WorkflowOf
    ) -> None:
        workflow = workflow_of(ONE, doubling())
        with pytest.raises(UsageError, match="workflow 'one' has no component 'check'; it has: work"):
            workflow.with_component(component(Bank().components[0]))
        with pytest.raises(UsageError, match="has no component 'work@9'"):
            workflow.component("work@9")

    def test_one_whose_schema_does_not_fit_is_told_as_by_the_compiler(self, workflow_of: WorkflowOf) -> None:
        @stretto.component("work", effects="pure")
        async def work(m: int) -> dict[str, int]:
            return {"n": m}

        with pytest.raises(SpecError, match="'work'"):
            workflow_of(ONE, doubling()).with_component(component(work))


class TestProtections:
    LIMITED = ONE.replace("input.n}}", "input.n}, resilience: {bulkhead: {limit: 1}}}")

    @staticmethod
    def counting() -> tuple[Any, list[int]]:
        """A component that notes how many calls of it are under way."""
        under_way, seen = 0, [0]

        @stretto.component("work", effects="pure")
        async def work(n: int) -> dict[str, int]:
            nonlocal under_way
            under_way += 1
            seen.append(under_way)
            await asyncio.sleep(0.001)
            under_way -= 1
            return {"n": n}

        return work, seen

    async def test_the_first_runs_share_them_too(self, workflow_of: WorkflowOf) -> None:
        work, seen = self.counting()
        workflow = workflow_of(self.LIMITED, work)
        assert workflow.protections == {}
        await asyncio.gather(*(workflow.run({"n": n}) for n in range(9)))
        assert (max(seen), workflow.protections["work"].calls) == (1, 9)

    async def test_workflows_made_from_one_share_them(self, workflow_of: WorkflowOf) -> None:
        work, seen = self.counting()
        workflow = workflow_of(self.LIMITED, work)
        rollouts = workflow.for_rollouts()
        await asyncio.gather(*(each.run({"n": n}) for n in range(4) for each in (workflow, rollouts)))
        assert (max(seen), rollouts.protections["work"].calls) == (1, 8)


class TestAfterClosing:
    async def test_a_closed_workflow_may_be_used_again(self, workflow_of: WorkflowOf) -> None:
        workflow = workflow_of(ONE, doubling())
        for number in (1, 2):
            async with workflow:
                assert numbers([await workflow.run({"n": number})]) == [2 * number]
        assert numbers([await workflow.run({"n": 3})]) == [6]

    def test_it_serves_one_event_loop_after_another(self, workflow_of: WorkflowOf) -> None:
        workflow = workflow_of(ONE, doubling())

        async def main() -> list[Run]:
            async with workflow:
                return await workflow.run_many([{"n": n} for n in range(3)])

        assert [numbers(asyncio.run(main())) for _ in range(2)] == [[0, 2, 4]] * 2

    async def test_closing_commits_what_was_written_behind(self, workflow_of: WorkflowOf) -> None:
        workflow = workflow_of(ONE, doubling())
        run = await workflow.run({"n": 1})
        await workflow.aclose()
        with Store(workflow.store.path) as elsewhere:
            assert elsewhere.get(run.id).status is RunStatus.OK

    async def test_a_store_that_was_closed_under_it_is_told_with_what_to_do(self, workflow_of: WorkflowOf) -> None:
        workflow = workflow_of(ONE.replace("durability: none", "durability: run"), doubling())
        await workflow.run({"n": 1})
        workflow.store.close()
        with pytest.raises(StoreError, match=r"runs\.db was closed; open a new Store"):
            await workflow.run({"n": 2})
