"""Settings of steps beyond their time-outs: when a call is made again, what a step may spend, and how far it goes."""

import asyncio
from typing import Any

import pytest

import stretto
from stretto import Workflow
from stretto.engine.tuned import Tuned
from stretto.runtime.tuning import Given, Origin
from stretto.testing import run_virtual
from stretto.types.enums import RunStatus
from stretto.types.errors import Code, ComponentError
from tests.unit.runtime.conftest import WorkflowOf, Write
from tests.unit.runtime.test_settings import set_at_once, slow

RETRIED = """
stretto: 1
name: desk
steps:
  - name: ask
    component: api
    resilience: {retry: {attempts: 3, base: 1ms}}
output: {text: steps.ask.text}
"""


class Api:
    """A component that fails, or answers, with one thing after the other; the last again and again."""

    def __init__(self, *answers: str | Code) -> None:
        self.answers = list(answers)
        self.calls = 0

    def component(self) -> Any:
        @stretto.component("api", "1.0.0", effects="read", inline=True)
        def api() -> dict[str, str]:
            answer = self.answers[min(self.calls, len(self.answers) - 1)]
            self.calls += 1
            if isinstance(answer, Code):
                raise ComponentError("no", answer)
            return {"text": answer}

        return api


class TestMadeAgain:
    def test_another_class_of_errors_is_retried_from_the_next_call_on(self, workflow_of: WorkflowOf) -> None:
        api = Api(Code.INTERNAL)
        workflow = workflow_of(RETRIED, api.component())

        async def calls(value: Given = None, *, change: bool = True) -> int:
            if change:
                await workflow.set("steps.ask.retry.on", value)
            before = api.calls
            await workflow.run({})
            return api.calls - before

        async def one_after_the_other() -> list[int]:
            untouched = await calls(change=False)
            return [untouched, await calls("[aborted]"), await calls([Code.ABORTED, Code.INTERNAL]), await calls()]

        assert run_virtual(one_after_the_other()) == [1, 1, 3, 1]

    def test_errors_that_the_file_retries_on_are_no_longer(self, workflow_of: WorkflowOf) -> None:
        api = Api(Code.UNAVAILABLE)
        text = RETRIED.replace("attempts: 3", "attempts: 3, on: [unavailable, aborted]")
        workflow = workflow_of(text, api.component())
        assert workflow.settings["steps.ask.retry.on"].value == "[unavailable, aborted]"

        async def before_and_after() -> tuple[int, int]:
            await workflow.run({})
            before = api.calls
            await workflow.set("steps.ask.retry.on", "[aborted]")
            await workflow.run({})
            return before, api.calls - before

        assert run_virtual(before_and_after()) == (3, 1)

    @pytest.mark.parametrize(
        "typed",
        [
            "output.text == ''",
            "\"output.text == ''\"",
            "!(output.text != '')",
            "output.text == '' ? true : false",
            "'' == output.text",
            "output.text == '' || output.text == 'a: b #c'",
        ],
    )
    def test_an_answer_that_counts_as_none_is_asked_for_again(self, workflow_of: WorkflowOf, typed: str) -> None:
        """The condition is typed as CEL, with the quotes of a file or without: YAML would read more into some."""
        api = Api("", "", "well")
        workflow = workflow_of(RETRIED, api.component())

        async def before_and_after() -> list[object]:
            first = await workflow.run({})
            api.calls = 0
            await workflow.set("steps.ask.retry.when", typed)
            return [first.output_value, (await workflow.run({})).output_value]

        assert run_virtual(before_and_after()) == [{"text": ""}, {"text": "well"}]
        assert workflow.settings["steps.ask.retry.when"].value == typed.strip('"')

    def test_the_condition_of_the_file_holds_again_when_it_is_taken_back(self, workflow_of: WorkflowOf) -> None:
        api = Api("no")
        workflow = workflow_of(
            RETRIED.replace("attempts: 3", "attempts: 3, when: \"output.text == 'no'\""), api.component()
        )

        async def there_and_back() -> list[int]:
            counted = []
            for value in ("output.text == 'never'", None):
                await workflow.set("steps.ask.retry.when", value)
                api.calls = 0
                run = await workflow.run({})
                counted.append(api.calls)
            assert run.error is not None
            assert "`output.text == 'no'` reads true of it" in run.error.message
            return counted

        assert run_virtual(there_and_back()) == [1, 3]


SPENT = """
stretto: 1
name: desk
budget: {tokens: 1000}
steps:
  - {name: ask, component: api, estimate: {tokens: 300}}
"""


class TestSpent:
    """A lease of what a call is expected to use must fit in the part of the budget that its step may spend."""

    @pytest.mark.parametrize(
        ("key", "value"),
        [("steps.ask.share", 0.2), ("steps.ask.estimate.tokens", 1001), ("budget.tokens", 299)],
    )
    def test_what_a_step_may_spend_or_is_expected_to(self, workflow_of: WorkflowOf, key: str, value: float) -> None:
        workflow = workflow_of(SPENT, slow("api", 0.0))

        async def before_between_and_after() -> list[RunStatus | None]:
            first = await workflow.run({})
            await workflow.set(key, value)
            between = await workflow.run({})
            await workflow.set(key, None)
            return [first.status, between.status, (await workflow.run({})).status]

        assert run_virtual(before_between_and_after()) == [RunStatus.OK, RunStatus.FAILED, RunStatus.OK]

    @pytest.mark.parametrize("holder", ["loop", "each", "inside"])
    def test_the_share_of_a_step_that_holds_others(self, write: Write, holder: str) -> None:
        does = {
            "loop": "repeat: {max_rounds: 1, steps: [{name: ask, component: api, estimate: {tokens: 300}}]}",
            "each": "for_each: input.items, steps: [{name: ask, component: api, estimate: {tokens: 300}}]",
            "inside": "workflow: inner.yaml",
        }
        files = {
            "outer.yaml": SPENT.partition("steps:")[0]
            + f"components: parts.py\nsteps: [{{name: it, {does[holder]}}}]\n",
            "inner.yaml": SPENT.replace("budget: {tokens: 1000}\n", ""),
            "parts.py": PARTS,
        }
        with stretto.load(write(files)) as workflow:

            async def before_and_after() -> list[RunStatus | None]:
                first = await workflow.run({"items": [1]})
                await workflow.set("steps.it.share", 0.2)
                return [first.status, (await workflow.run({"items": [1]})).status]

            assert run_virtual(before_and_after()) == [RunStatus.OK, RunStatus.FAILED]


PARTS = """
import asyncio
import stretto

@stretto.component("api", "1.0.0", effects="read")
async def api() -> dict[str, str]:
    await asyncio.sleep(1)
    return {}

@stretto.component("rules", "1.0.0", effects="pure")
async def rules() -> dict[str, str]:
    return {}
"""

FAR = """
stretto: 1
name: desk
steps:
  - name: loop
    repeat: {max_rounds: 4, steps: [{name: more, component: api}]}
  - name: each
    needs: [loop]
    for_each: input.items
    component: api
    max_parallel: 1
"""


class TestHowFar:
    def test_a_loop_under_way_makes_no_more_rounds_than_are_set_now(self, workflow_of: WorkflowOf) -> None:
        workflow = workflow_of(FAR, slow("api", 1.0))

        async def rounds(limit: int) -> int:
            running = asyncio.create_task(workflow.run({}))
            await asyncio.sleep(1.5)
            set_at_once(workflow, "steps.loop.repeat.max_rounds", limit)
            return len([step for step in (await running).steps if step.path.startswith("loop[")])

        async def fewer_and_more() -> list[int]:
            await workflow.run({})
            return [await rounds(2), await rounds(6)]

        assert run_virtual(fewer_and_more()) == [2, 6]

    def test_more_items_are_done_at_once(self, workflow_of: WorkflowOf) -> None:
        workflow = workflow_of(FAR, slow("api", 1.0))

        async def took() -> float:
            run = await workflow.run({"items": [1, 2, 3, 4]})
            (step,) = (step for step in run.steps if step.path == "each")
            return step.ended_ms - step.started_ms

        async def before_and_after() -> list[float]:
            first = await took()
            set_at_once(workflow, "steps.each.max_parallel", 4)
            return [first, await took()]

        assert run_virtual(before_and_after()) == pytest.approx([4000, 1000])


NESTED = {
    "outer.yaml": """
stretto: 1
name: outer
components: parts.py
steps:
  - {name: first, workflow: middle.yaml}
""",
    "middle.yaml": """
stretto: 1
name: middle
budget: {deadline: 9s}
steps:
  - {name: second, workflow: inner.yaml}
""",
    "inner.yaml": """
stretto: 1
name: inner
budget: {tokens: 1000, deadline: 5s}
fallback: {component: rules}
steps:
  - {name: ask, component: api, estimate: {tokens: 300}}
""",
    "parts.py": PARTS,
}


class TestInside:
    """Budgets of workflows inside another, which hold from the next time on that those are called."""

    @pytest.mark.parametrize(
        ("key", "value", "status"),
        [
            ("steps.first.budget.deadline", "500ms", RunStatus.EXPIRED),
            ("steps.first/second.budget.deadline", "500ms", RunStatus.EXPIRED),
            ("steps.first/second.budget.reserve", "4500ms", RunStatus.EXPIRED),
            ("steps.first/second.budget.tokens", 299, RunStatus.FAILED),
        ],
    )
    def test_a_tighter_budget_holds_and_is_taken_back(
        self, write: Write, key: str, value: str | int, status: RunStatus
    ) -> None:
        with stretto.load(write(NESTED)) as workflow:

            async def before_between_and_after() -> list[RunStatus | None]:
                first = await workflow.run({})
                await workflow.set(key, value)
                between = await workflow.run({})
                await workflow.set(key, None)
                return [first.status, between.status, (await workflow.run({})).status]

            assert run_virtual(before_between_and_after()) == [RunStatus.OK, status, RunStatus.OK]

    def test_a_run_under_way_obeys_when_it_comes_there(self, write: Write) -> None:
        """The first round's sub-workflow ends within the deadline of the file; the second's would have too."""
        text = NESTED["outer.yaml"].replace(
            "- {name: first, workflow: middle.yaml}",
            "- {name: loop, repeat: {max_rounds: 2, steps: [{name: first, workflow: middle.yaml}]}}",
        )
        with stretto.load(write({**NESTED, "outer.yaml": text})) as workflow:

            async def change_within() -> stretto.Run:
                await workflow.run({})
                running = asyncio.create_task(workflow.run({}))
                await asyncio.sleep(0.5)
                set_at_once(workflow, "steps.loop/first.budget.deadline", "600ms")
                return await running

            run = run_virtual(change_within())
        assert run.error is not None
        assert run.error.path == "loop[2]/first/second/ask"

    def test_they_are_listed_under_the_step_that_holds_them(self, write: Write) -> None:
        with stretto.load(write(NESTED)) as workflow:
            found = workflow.settings
        assert (found["steps.first/second.budget.deadline"].value, found["steps.first.budget.deadline"].value) == (
            "5s",
            "9s",
        )
        assert found["steps.first/second.budget.tokens"].origin is Origin.FILE
        assert "budget.deadline" not in found, "it declares none"
        assert not [key for key in found if "fallback" in key], "one inside answers for runs of its own alone"


def test_taking_everything_back_leaves_the_plan_as_it_was(workflow_of: WorkflowOf) -> None:
    workflow: Workflow = workflow_of(SPENT, slow("api", 0.0))
    tuned: Tuned = workflow._tuning.tuned
    set_at_once(workflow, "steps.ask.share", 0.5)
    assert tuned.of(workflow.plan) is not workflow.plan
    assert [op.share for op in tuned.ops.values()] == [0.5]
    workflow._tuning.change("steps.ask.share", None, "", "")
    assert tuned.of(workflow.plan) is workflow.plan
    assert not tuned.ops
