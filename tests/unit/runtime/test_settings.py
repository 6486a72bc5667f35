"""Figures of operations that are changed while a workflow runs."""

import asyncio
import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import stretto
from stretto import Workflow
from stretto.engine.breaker import BreakerState
from stretto.runtime.following import Following
from stretto.runtime.tuning import Origin
from stretto.spec.tunable_keys import OF_COMPONENT, OF_MAP, OF_STEP
from stretto.spec.tunable_top_keys import OF_WORKFLOW
from stretto.store.sqlite import Store
from stretto.testing import run_virtual
from stretto.types.budget import BudgetSpec
from stretto.types.enums import RunStatus
from stretto.types.errors import Code, ComponentError, SpecError, StrettoError, UsageError
from tests.unit.runtime.conftest import WorkflowOf, Write

DESK = """
stretto: 1
name: desk
budget: {deadline: 60s}
steps:
  - name: ask
    component: api
    resilience:
      timeout: 1s
      retry: {attempts: 2, base: 1ms}
      breaker: {min_calls: 8, open_for: 5s}
      hedge: {after: 900ms}
      bulkhead: {limit: 2, queue: 5}
  - name: loop
    needs: [ask]
    repeat:
      steps:
        - {name: more, component: more, resilience: {timeout: 1s}}
      max_rounds: 3
"""


FALLBACK = "fallback: {component: rules, after: 2}\n"


def slow(name: str, *took_s: float) -> Any:
    """A component that takes so long at each call, the last time again and again."""
    left = list(took_s)

    @stretto.component(name, "1.0.0", effects="read")
    async def component() -> dict[str, str]:
        await asyncio.sleep(left.pop(0) if len(left) > 1 else left[0])
        return {}

    return component


def desk(workflow_of: WorkflowOf, *, api: Any = None, more: Any = None, text: str = DESK) -> Workflow:
    return workflow_of(text, api or slow("api", 0.0), more or slow("more", 0.0), slow("rules", 0.0))


def set_at_once(workflow: Workflow, key: str, value: str | float) -> None:
    """In no time of a virtual clock, which goes on while a thread works."""
    workflow._tuning.change(key, value, "", "")


class TestSetting:
    def test_a_longer_time_out_holds_from_the_next_call_on(self, workflow_of: WorkflowOf) -> None:
        workflow = desk(workflow_of, api=slow("api", 2.0))

        async def before_and_after() -> list[RunStatus | None]:
            first = await workflow.run({})
            await workflow.set("steps.ask.timeout", "3s")
            return [first.status, (await workflow.run({})).status]

        assert run_virtual(before_and_after()) == [RunStatus.FAILED, RunStatus.OK]

    def test_a_budget_holds_from_the_next_run_on_but_for_a_caller_with_one_of_its_own(
        self, workflow_of: WorkflowOf
    ) -> None:
        workflow = desk(workflow_of, more=slow("more", 0.9))
        own = BudgetSpec(deadline=timedelta(seconds=60))

        async def tighter() -> list[RunStatus | None]:
            await workflow.run({})
            running = asyncio.create_task(workflow.run({}))
            await asyncio.sleep(0.1)
            set_at_once(workflow, "budget.deadline", "2s")
            runs = [await running, await workflow.run({}), await workflow.run({}, budget=own)]
            workflow._tuning.change("budget.deadline", None, "", "")
            return [run.status for run in [*runs, await workflow.run({})]]

        assert run_virtual(tighter()) == [RunStatus.OK, RunStatus.EXPIRED, RunStatus.OK, RunStatus.OK]

    def test_a_run_under_way_obeys_with_its_next_call(self, workflow_of: WorkflowOf) -> None:
        """The second round of the loop is set a shorter time-out while the first one works."""
        workflow = desk(workflow_of, more=slow("more", 0.5))

        async def change_within() -> stretto.Run:
            await workflow.run({})
            running = asyncio.create_task(workflow.run({}))
            await asyncio.sleep(0.25)
            set_at_once(workflow, "steps.loop/more.timeout", "100ms")
            return await running

        run = run_virtual(change_within())
        assert run.error is not None
        assert run.error.path == "loop[2]/more"

    def test_it_is_taken_back(self, workflow_of: WorkflowOf) -> None:
        workflow = desk(workflow_of, api=slow("api", 2.0))

        async def there_and_back() -> RunStatus | None:
            await workflow.set("steps.ask.timeout", timedelta(seconds=3))
            assert (await workflow.run({})).status is RunStatus.OK
            await workflow.set("steps.ask.timeout", None)
            return (await workflow.run({})).status

        assert run_virtual(there_and_back()) is RunStatus.FAILED
        assert workflow.settings["steps.ask.timeout"].origin is Origin.FILE

    def test_a_hedge_is_sent_sooner(self, workflow_of: WorkflowOf) -> None:
        workflow = desk(workflow_of, api=slow("api", 0.0, 0.8, 0.1))

        async def sooner() -> float:
            await workflow.run({})
            set_at_once(workflow, "steps.ask.hedge.after", "200ms")
            began = asyncio.get_running_loop().time()
            await workflow.run({})
            return asyncio.get_running_loop().time() - began

        assert run_virtual(sooner()) == pytest.approx(0.3)

    def test_attempts_and_quota_hold_for_the_next_call(self, workflow_of: WorkflowOf) -> None:
        calls = 0

        @stretto.component("api", "1.0.0", effects="read", inline=True)
        def api() -> dict[str, str]:
            nonlocal calls
            calls += 1
            raise ComponentError("down", Code.UNAVAILABLE)

        workflow = desk(workflow_of, api=api)

        async def ask(key: str, value: int | float) -> int:
            nonlocal calls
            calls = 0
            await workflow.set(key, value)
            await workflow.run({})
            return calls

        async def all_of_it() -> list[int]:
            await workflow.set("components.api.breaker.min_calls", 50)
            await workflow.set("components.api.breaker.window_calls", 50)
            more = await ask("steps.ask.retry.attempts", 4)
            await workflow.set("components.api.quota.ratio", 0)
            return [more, await ask("components.api.quota.floor", 0)]

        assert run_virtual(all_of_it()) == [4, 1]

    @pytest.mark.parametrize(
        ("text", "key", "status"),
        [
            (
                DESK.replace("hedge:", "fallback: {output: {}, after: 2}\n      hedge:"),
                "components.api.fallback",
                "degraded",
            ),
            (DESK + FALLBACK, "fallback", "business_fallback"),
        ],
        ids=["component", "workflow"],
    )
    def test_a_fallback_stands_in_after_as_many_failures_as_is_set(
        self, workflow_of: WorkflowOf, text: str, key: str, status: str
    ) -> None:
        calls = 0

        @stretto.component("api", "1.0.0", effects="read", inline=True)
        def api() -> dict[str, str]:
            nonlocal calls
            calls += 1
            raise ComponentError("down", Code.UNAVAILABLE)

        workflow = desk(workflow_of, api=api, text=text)

        async def four(after: int | None) -> int:
            nonlocal calls
            calls = 0
            await workflow.set(f"{key}.after", after)
            runs = [await workflow.run({}) for _ in range(4)]
            assert {run.status for run in runs} == {status}
            return calls

        async def more_first() -> list[int]:
            await workflow.set("steps.ask.retry.attempts", 1)
            first = await four(100)
            await workflow.set(f"{key}.retry_after", "1h")
            return [first, await four(None)]

        assert run_virtual(more_first()) == [4, 1]

    def test_a_breaker_and_a_bulkhead_go_on_with_what_they_learnt(self, workflow_of: WorkflowOf) -> None:
        @stretto.component("api", "1.0.0", effects="read", inline=True)
        def api() -> dict[str, str]:
            raise ComponentError("down", Code.UNAVAILABLE)

        workflow = desk(workflow_of, api=api)

        async def opens_sooner() -> BreakerState | None:
            await workflow.set("steps.ask.retry.attempts", 1)
            await workflow.run({})
            await workflow.run({})
            await workflow.set("components.api.breaker.min_calls", 3)
            await workflow.set("components.api.bulkhead.limit", 7)
            await workflow.run({})
            assert workflow.protections["api"].limit == 7
            return workflow.protections["api"].state

        assert run_virtual(opens_sooner()) is BreakerState.OPEN

    def test_a_limit_that_is_raised_lets_in_who_waits(self, workflow_of: WorkflowOf) -> None:
        """Five runs at once, two at a time: the last would end after 2.7 s, and nobody else comes or goes meanwhile."""
        workflow = desk(workflow_of, api=slow("api", 0.9), text=DESK.replace("timeout: 1s\n", "timeout: 5s\n"))

        async def five() -> float:
            await workflow.run({})
            began = asyncio.get_running_loop().time()
            running = asyncio.gather(*(workflow.run({}) for _ in range(5)))
            await asyncio.sleep(0.1)
            set_at_once(workflow, "components.api.bulkhead.limit", 5)
            await running
            return asyncio.get_running_loop().time() - began

        assert run_virtual(five()) == pytest.approx(1.0)

    def test_a_limit_and_a_queue_that_are_lowered_lose_nobody(self, workflow_of: WorkflowOf) -> None:
        workflow = desk(workflow_of, api=slow("api", 0.9), text=DESK.replace("timeout: 1s\n", "timeout: 50s\n"))

        async def five() -> tuple[list[RunStatus | None], float, RunStatus | None]:
            await workflow.run({})
            began = asyncio.get_running_loop().time()
            running = asyncio.gather(*(workflow.run({}) for _ in range(5)))
            await asyncio.sleep(0.1)
            set_at_once(workflow, "components.api.bulkhead.limit", 1)
            set_at_once(workflow, "components.api.bulkhead.queue", 1)
            late = await workflow.run({})
            ended = [run.status for run in await running]
            return ended, asyncio.get_running_loop().time() - began, late.status

        ended, took_s, late = run_virtual(five())
        assert ended == [RunStatus.OK] * 5
        assert took_s == pytest.approx(0.9 * 4), "two that were inside, then three one by one"
        assert late is RunStatus.FAILED, "the queue was full for it"

    def test_a_limit_that_is_raised_after_the_event_loop_ended_is_no_trouble(self, workflow_of: WorkflowOf) -> None:
        workflow = desk(workflow_of, api=slow("api", 0.9))

        async def leave_some_waiting() -> None:
            for _ in range(4):
                task = asyncio.create_task(workflow.run({}))
            await asyncio.wait([task], timeout=0.1)

        run_virtual(leave_some_waiting())
        set_at_once(workflow, "components.api.bulkhead.limit", 5)
        assert run_virtual(workflow.run({})).status is RunStatus.OK

    def test_the_manifest_stays_and_the_run_says_with_which_revision_it_began(self, workflow_of: WorkflowOf) -> None:
        workflow = desk(workflow_of)

        async def three() -> list[stretto.Run]:
            runs = [await workflow.run({})]
            await workflow.set("steps.ask.timeout", "3s")
            runs.append(await workflow.run({}))
            await workflow.set("steps.ask.timeout", None)
            return [*runs, await workflow.run({})]

        runs = run_virtual(three())
        assert [run.settings for run in runs] == [0, 1, 2]
        assert len({str(run.manifest) for run in runs}) == 1
        assert workflow.store.get(runs[1].id).settings == 1

    def test_those_made_from_it_obey_too(self, workflow_of: WorkflowOf) -> None:
        workflow = desk(workflow_of, api=slow("api", 2.0))
        other = workflow.for_rollouts()

        async def elsewhere() -> RunStatus | None:
            await other.open()
            await workflow.set("steps.ask.timeout", "3s")
            return (await other.run({})).status

        assert run_virtual(elsewhere()) is RunStatus.OK


def _where(group: Any) -> str:
    if group in OF_WORKFLOW:
        return ""
    if group in OF_COMPONENT:
        return "components.api."
    return "steps.each." if group in OF_MAP else "steps.ask."


class TestListing:
    def test_each_figure_says_where_it_comes_from(self, workflow_of: WorkflowOf) -> None:
        workflow = desk(workflow_of)
        asyncio.run(workflow.set("steps.ask.retry.attempts", 5, by="ada", reason="slow"))
        found = workflow.settings
        assert (found["steps.ask.timeout"].value, found["steps.ask.timeout"].origin) == ("1s", Origin.FILE)
        assert (found["steps.ask.retry.cap"].value, found["steps.ask.retry.cap"].origin) == ("10s", Origin.DEFAULT)
        attempts = found["steps.ask.retry.attempts"]
        assert attempts.setting is not None
        assert (attempts.value, attempts.origin, attempts.setting.by, attempts.setting.reason) == (
            5,
            Origin.SETTING,
            "ada",
            "slow",
        )
        assert "steps.loop/more.retry.attempts" not in found, "it declares no retry"

    def test_what_is_kept_for_a_fallback_where_nobody_says_how_much_is_listed_in_words(
        self, workflow_of: WorkflowOf
    ) -> None:
        alone = desk(workflow_of).settings["budget.reserve"]
        assert (alone.value, alone.unsaid) == (None, "")
        found = desk(workflow_of, text=DESK + FALLBACK).settings["budget.reserve"]
        assert (found.value, found.unsaid, found.origin) == (None, "0.1 of the deadline, at most 1s", Origin.DEFAULT)

    def test_the_time_out_that_a_contract_gives_is_listed(self, workflow_of: WorkflowOf) -> None:
        text = DESK.replace(", resilience: {timeout: 1s}", "")
        text += "contract: {sla: {more: {max_latency: 700ms}, ask: {max_latency: 2s}}}\n"
        found = desk(workflow_of, text=text).settings
        assert (found["steps.loop/more.timeout"].value, found["steps.loop/more.timeout"].origin) == ("700ms", "file")
        assert found["steps.ask.timeout"].value == "1s", "its own"

    @pytest.mark.parametrize("group", [*OF_STEP, *OF_COMPONENT, *OF_WORKFLOW], ids=lambda group: group.name or "alone")
    def test_every_default_is_a_value_that_its_own_key_takes(self, workflow_of: WorkflowOf, group: Any) -> None:
        """A default beside another of its group, so that what excludes it in this file does not matter."""
        adaptive = DESK.replace("limit: 2, ", "").replace("deadline: 60s", "deadline: 60s, reserve: 1s")
        adaptive = adaptive.replace("hedge:", "fallback: {output: {}}\n      hedge:")
        adaptive += "  - {name: each, for_each: input.items, component: more}\n" + FALLBACK
        if group.name == "fallback.exercise":
            adaptive = adaptive.replace("after: 2}", "after: 2, exercise: {}}")
        for key, default in group.defaults.items():
            if default is None:
                continue
            workflow = desk(workflow_of, text=adaptive)
            name = f"{_where(group)}{group.key_of(key)}"
            assert name in workflow.settings
            if key.name == "slow_rate":
                asyncio.run(workflow.set("components.api.breaker.slow_after", "500ms"))
            asyncio.run(workflow.set(name, default))
            assert workflow.settings[name].value == default


class TestRefused:
    @pytest.mark.parametrize(
        ("key", "value", "error", "told"),
        [
            ("steps.ask.timout", "1s", UsageError, "did you mean 'steps.ask.timeout'"),
            ("steps.asc.timeout", "1s", UsageError, "did you mean 'steps.ask.timeout'"),
            (
                "nonsense",
                "1s",
                UsageError,
                "they begin with steps.NAME, components.NAME, budget, fallback, resources",
            ),
            (3, "1s", UsageError, "the key of a setting is 3"),
            ("steps.ask.timeout", [1], UsageError, "the value of 'steps.ask.timeout' is [1]"),
            ("steps.ask.timeout", ["1s"], SpecError, "`timeout` is a list of 1"),
            ("steps.ask.timeout", None, UsageError, "was not changed, so nothing is taken back"),
            ("steps.ask.timeout", 800, SpecError, "try: 800ms or 800s"),
            ("steps.ask.timeout", "-1s", SpecError, "a duration is never negative"),
            ("steps.ask.timeout", "null", SpecError, "`timeout` is null, which is no duration"),
            ("steps.ask.timeout", "{a: 1}", SpecError, "`timeout` is a mapping"),
            ("steps.ask.timeout", "a: b: c", SpecError, "setting:1"),
            ("steps.ask.timeout", "1s\nsteps: 3", UsageError, "expected one line"),
            ("steps.ask.timeout", "2m", SpecError, "deadline"),
            ("steps.ask.retry.attempts", "many", SpecError, "a whole number from 1 to 100"),
            ("steps.ask.retry.attempts", 0, SpecError, "`attempts` is the number 0"),
            ("steps.ask.retry.attempts", float("nan"), UsageError, "is nan; expected a finite number"),
            ("budget.cost", float("inf"), UsageError, "is inf; expected a finite number"),
            ("budget.cost", 10**30, UsageError, "expected a whole number of 64 bits"),
            ("steps.ask.priority", -(2**63) - 1, UsageError, "expected a whole number of 64 bits"),
            ("steps.ask.retry.base", "1m", SpecError, "`base` is 1m, longer than `cap`, which is 10s"),
            ("steps.ask.retry.on", "unavailable", SpecError, "try: on: [unavailable]"),
            ("steps.ask.fallback.component", "other", UsageError, "has no setting"),
            ("steps.ask.priority", 1000, SpecError, "a whole number from -100 to 100"),
            ("components.api.quota.ratio", 2, SpecError, "at most 1"),
            ("components.api.breaker.open_for", "3m", SpecError, "more than `max_open`, which is 2m"),
            ("components.api.breaker.min_calls", 51, SpecError, "more than `window_calls`, which is 50"),
            ("components.api.breaker.slow_rate", 0.5, SpecError, "`slow_rate` without `slow_after`"),
            ("steps.ask.retry.jitter", "ful", SpecError, "try: full"),
            ("steps.ask.hedge.copies", 9, SpecError, "a whole number from 1 to 4"),
            ("components.api.bulkhead.max_limit", 8, SpecError, "bounds an adaptive limit, and `limit` fixes it"),
            ("budget.deadline", "500ms", SpecError, "deadline"),
            ("budget.reserve", "2m", SpecError, "`reserve` takes the whole `deadline`"),
            ("budget.tokens", 0, SpecError, "a whole number from 1"),
            ("budget.dedline", "1m", UsageError, "did you mean 'budget.deadline'"),
            ("fallback.after", 3, UsageError, "workflow.yaml declares no `fallback`"),
            ("components.api.fallback.after", 3, UsageError, "no step that calls 'api' declares a `fallback`"),
            ("components.more.breaker.probes", 3, UsageError, "no step that calls 'more' declares a `breaker`"),
            ("steps.loop/more.retry.attempts", 3, UsageError, "step 'loop/more' declares no `retry`"),
        ],
    )
    def test_what_cannot_hold_is_refused_and_nothing_is_kept(
        self, workflow_of: WorkflowOf, key: Any, value: Any, error: type[StrettoError], told: str
    ) -> None:
        workflow = desk(workflow_of)
        with pytest.raises(error) as caught:
            asyncio.run(workflow.set(key, value))
        assert told in str(caught.value)
        assert workflow.store.settings_history("desk") == []

    def test_what_contradicts_a_line_of_the_file_is_named_beside_it(self, workflow_of: WorkflowOf) -> None:
        workflow = desk(workflow_of, text=DESK.replace("budget: {", "budget: {reserve: 300ms, ", 1))
        with pytest.raises(SpecError) as caught:
            asyncio.run(workflow.set("budget.deadline", "100ms"))
        (problem,) = caught.value.problems
        assert problem.message.startswith("with the setting budget.deadline at 100ms: `reserve` takes the whole")
        assert problem.message.endswith("300ms of 100ms")
        assert problem.suggestion == "another value for budget.deadline, or set what it contradicts here first"

    def test_taking_back_what_another_leans_on_is_refused(self, workflow_of: WorkflowOf) -> None:
        workflow = desk(workflow_of)
        asyncio.run(workflow.set("components.api.breaker.max_open", "10m"))
        asyncio.run(workflow.set("components.api.breaker.open_for", "5m"))
        with pytest.raises(SpecError, match="`open_for` is 5m, more than `max_open`, which is 2m"):
            asyncio.run(workflow.set("components.api.breaker.max_open", None))
        assert workflow.settings["components.api.breaker.max_open"].value == "10m"


class TestTogether:
    def test_two_who_change_at_once_are_judged_beside_each_other(
        self, workflow_of: WorkflowOf, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each alone would fit: the one that comes second does not, though it was judged before the first was kept."""
        workflow = desk(workflow_of)
        kept = Store.set_settings

        def another_first(store: Store, name: str, changes: Any, **asked: Any) -> Any:
            monkeypatch.setattr(Store, "set_settings", kept)
            store.set_settings(name, {"components.api.breaker.max_open": "6s"}, by="bob")
            return store.set_settings(name, changes, **asked)

        monkeypatch.setattr(Store, "set_settings", another_first)
        with pytest.raises(SpecError, match="`open_for` is 1m, more than `max_open`, which is 6s"):
            asyncio.run(workflow.set("components.api.breaker.open_for", "1m", by="ada"))
        assert [each.by for each in workflow.store.settings("desk")] == ["bob"]

    def test_a_run_that_was_parked_is_resumed_with_the_settings_of_now(self, workflow_of: WorkflowOf) -> None:
        """The manifest is what it was, so resuming is allowed; the longer time-out lets the last step answer."""
        parked = """
stretto: 1
name: desk
durability: step
steps:
  - {name: pay, component: pay}
  - {name: ask, component: api, needs: [pay], resilience: {timeout: 1s}}
"""

        @stretto.component("pay", "1.0.0", effects="write", inline=True)
        def pay() -> dict[str, str]:
            raise ComponentError("no answer", Code.DEADLINE_EXCEEDED)

        workflow = workflow_of(parked, pay, slow("api", 2.0))

        async def go_on() -> stretto.Run:
            run = await workflow.run({})
            assert run.status is RunStatus.PARKED
            await workflow.set("steps.ask.timeout", "3s")
            await workflow.settle(run.id, "pay", response={})
            return await workflow.resume(run.id)

        run = run_virtual(go_on())
        assert (run.status, run.settings) == (RunStatus.OK, 0)


SUB = {
    "outer.yaml": """
stretto: 1
name: outer
components: components.py
steps:
  - {name: first, workflow: inner.yaml}
  - {name: own, component: api, needs: [first], resilience: {retry: {attempts: 2}}}
""",
    "inner.yaml": """
stretto: 1
name: inner
steps:
  - {name: ask, component: api, resilience: {timeout: 1s, breaker: {open_for: 5s}}}
""",
    "components.py": """
import asyncio
import stretto

@stretto.component(effects="read")
async def api() -> dict[str, str]:
    await asyncio.sleep(2)
    return {}
""",
}


class TestInside:
    def test_a_step_of_a_workflow_inside_is_named_through_the_step_that_holds_it(self, write: Write) -> None:
        with stretto.load(write(SUB)) as workflow:

            async def before_and_after() -> list[RunStatus | None]:
                first = await workflow.run({})
                await workflow.set("steps.first/ask.timeout", "3s")
                return [first.status, (await workflow.run({})).status]

            assert run_virtual(before_and_after()) == [RunStatus.FAILED, RunStatus.OK]

    def test_a_component_is_changed_wherever_a_file_declares_it(self, write: Write) -> None:
        with stretto.load(write(SUB)) as workflow:
            assert workflow.settings["components.api.breaker.open_for"].value == "5s"
            asyncio.run(workflow.set("components.api.breaker.open_for", "9s"))
            assert workflow.settings["components.api.breaker.open_for"].value == "9s"
            with pytest.raises(SpecError, match="more than `max_open`"):
                asyncio.run(workflow.set("components.api.breaker.open_for", "9m"))

    def test_a_workflow_that_two_steps_share_is_one_and_listed_so(self, write: Write) -> None:
        outer = SUB["outer.yaml"] + "  - {name: again, workflow: inner.yaml, needs: [own]}\n"
        with stretto.load(write(SUB | {"outer.yaml": outer})) as workflow:

            async def one_after_the_other() -> list[Any]:
                seen = []
                for key, value in (("first", "3s"), ("again", "4s"), ("first", "2500ms"), ("first", None)):
                    await workflow.set(f"steps.{key}/ask.timeout", value)
                    found = workflow.settings
                    seen.append([found[f"steps.{step}/ask.timeout"].value for step in ("first", "again")])
                return [*seen, (await workflow.run({})).status]

            assert run_virtual(one_after_the_other()) == [
                ["3s", "3s"],
                ["4s", "4s"],
                ["2500ms", "2500ms"],
                ["4s", "4s"],
                RunStatus.OK,
            ]


class TestFollowing:
    def test_what_another_store_object_wrote_is_obeyed_from_the_start(self, workflow_of: WorkflowOf) -> None:
        workflow = desk(workflow_of, api=slow("api", 2.0))
        with Store(workflow.store.path) as another:
            another.set_settings("desk", {"steps.ask.timeout": "3s"}, by="bob")
        assert run_virtual(workflow.run({})).status is RunStatus.OK

    def test_a_running_process_sees_it_without_being_told(self, workflow_of: WorkflowOf) -> None:
        workflow = desk(workflow_of)
        following = Following(poll_s=0.01)
        following.join(workflow._tuning)
        with Store(workflow.store.path) as another:
            another.set_settings("desk", {"steps.ask.timeout": "3s"})
        _wait_until(lambda: workflow._tuning.tuned.revision == 1)
        following.leave(workflow._tuning)
        _wait_until(lambda: following._thread is None)

    def test_it_ends_when_nobody_is_left_and_begins_again(self, workflow_of: WorkflowOf) -> None:
        workflow, following = desk(workflow_of), Following(poll_s=0.01)
        for _ in range(2):
            following.join(workflow._tuning)
            following.join(workflow._tuning)
            assert following._thread is not None
            following.leave(workflow._tuning)
            _wait_until(lambda: following._thread is None)

    def test_it_keeps_no_workflow_alive(self, workflow_of: WorkflowOf) -> None:
        following = Following(poll_s=0.01)
        following.join(desk(workflow_of)._tuning)
        _wait_until(lambda: following._thread is None)

    def test_a_store_that_cannot_be_read_is_told_of_once(
        self, workflow_of: WorkflowOf, caplog: pytest.LogCaptureFixture
    ) -> None:
        workflow, following = desk(workflow_of), Following(poll_s=60)
        following.join(workflow._tuning)
        workflow.store.path.write_bytes(b"no database at all, and longer than its header would be" * 10)
        with caplog.at_level(logging.WARNING):
            following.look()
            following.look()
        following.leave(workflow._tuning)
        assert len([record for record in caplog.records if "could not be read" in record.message]) == 1

    def test_a_store_that_was_closed_is_left_in_silence(
        self, workflow_of: WorkflowOf, caplog: pytest.LogCaptureFixture
    ) -> None:
        workflow, following = desk(workflow_of), Following(poll_s=0.01)
        following.join(workflow._tuning)
        workflow.store.close()
        _wait_until(lambda: following._thread is None)
        assert not caplog.records

    def test_one_that_the_file_has_outgrown_is_passed_over_and_the_others_hold(
        self, workflow_of: WorkflowOf, caplog: pytest.LogCaptureFixture
    ) -> None:
        workflow = desk(workflow_of)
        changes = {"steps.gone.timeout": "3s", "steps.ask.timeout": "4s", "components.api.breaker.open_for": "9m"}
        workflow.store.set_settings("desk", changes, by="ada")
        with caplog.at_level(logging.WARNING):
            assert run_virtual(workflow.run({})).status is RunStatus.OK
        found = workflow.settings
        assert found["steps.ask.timeout"].value == "4s"
        assert found["components.api.breaker.open_for"].value == "5s"
        assert "more than `max_open`" in found["components.api.breaker.open_for"].passed_over
        assert "there is no setting" in found["steps.gone.timeout"].passed_over
        assert "`stretto config unset` removes it" in caplog.text
        asyncio.run(workflow.set("steps.gone.timeout", None))
        assert "steps.gone.timeout" not in workflow.settings

    def test_what_the_file_has_outgrown_keeps_nobody_from_changing_the_rest(self, workflow_of: WorkflowOf) -> None:
        workflow = desk(workflow_of)
        workflow.store.set_settings("desk", {"steps.gone.timeout": "3s"})
        asyncio.run(workflow.set("steps.ask.timeout", "4s"))
        assert workflow.settings["steps.ask.timeout"].value == "4s"

    def test_one_that_leans_on_a_later_one_holds_beside_one_that_is_outgrown(self, workflow_of: WorkflowOf) -> None:
        workflow = desk(workflow_of)
        changes = {
            "components.api.breaker.open_for": "9m",
            "steps.gone.timeout": "3s",
            "components.api.breaker.max_open": "10m",
        }
        workflow.store.set_settings("desk", changes)
        assert workflow.settings["components.api.breaker.open_for"].value == "9m"
        assert list(workflow._tuning._passed_over) == ["steps.gone.timeout"]

    def test_settings_that_are_gone_with_the_store_are_told_of(
        self, workflow_of: WorkflowOf, caplog: pytest.LogCaptureFixture
    ) -> None:
        workflow = desk(workflow_of)
        asyncio.run(workflow.set("steps.ask.timeout", "4s"))
        workflow.store.flush()
        for path in workflow.store.path.parent.glob(f"{workflow.store.path.name}*"):
            path.unlink()
        assert workflow.settings["steps.ask.timeout"].value == "1s"
        assert "the settings of workflow 'desk' are gone from" in caplog.text

    def test_a_look_that_a_change_overtook_takes_nothing_for_gone(
        self, workflow_of: WorkflowOf, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        workflow = desk(workflow_of)
        set_at_once(workflow, "steps.ask.timeout", "4s")
        look = workflow.store.settings_revision

        def look_and_be_overtaken(name: str) -> int:
            found = look(name)
            set_at_once(workflow, "steps.ask.timeout", "5s")
            return found

        monkeypatch.setattr(workflow.store, "settings_revision", look_and_be_overtaken)
        assert workflow.settings["steps.ask.timeout"].value == "5s"
        assert not caplog.text

    def test_a_process_that_was_forked_follows_anew(self, workflow_of: WorkflowOf) -> None:
        """It has the objects of its parent, and none of its threads."""
        workflow, following = desk(workflow_of), Following(poll_s=0.01)
        ended = threading.Thread()
        ended.start()
        ended.join()
        following._thread = ended
        following.join(workflow._tuning)
        assert following._thread is not ended
        following.leave(workflow._tuning)

    def test_a_row_that_is_no_setting_is_named_with_its_remedy(
        self, workflow_of: WorkflowOf, caplog: pytest.LogCaptureFixture
    ) -> None:
        workflow, following = desk(workflow_of), Following(poll_s=60)
        workflow.store.set_settings("desk", {"steps.ask.timeout": "3s"})
        with closing(sqlite3.connect(workflow.store.path)) as connection, connection:
            connection.execute("UPDATE settings SET value = 'nonsense'")
        following.join(workflow._tuning)
        following.look()
        following.leave(workflow._tuning)
        assert "revision 1 of the settings holds 'nonsense' for 'steps.ask.timeout'" in caplog.text


def _wait_until(holds: Callable[[], bool]) -> None:
    """A thread is waited for by its effect; the limit is for a test that fails."""
    give_up = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < give_up
        time.sleep(0.005)


def _noting(asked: list[str]) -> Callable[[Store, str], int]:
    def revision(_: Store, name: str) -> int:
        asked.append(name)
        return 0

    return revision


def test_a_store_of_its_own_process_is_not_asked_on_the_way_of_a_run(
    workflow_of: WorkflowOf, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    workflow = desk(workflow_of)
    run_virtual(workflow.run({}))
    asked: list[str] = []
    monkeypatch.setattr(Store, "settings_revision", _noting(asked))
    monkeypatch.setattr(Following, "join", lambda *_: None)
    run_virtual(workflow.run({}))
    assert asked == []
