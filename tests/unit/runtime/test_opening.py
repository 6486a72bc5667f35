"""A component is opened once, whoever needs it and however many at once, and closed by the last."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest

import stretto
from stretto import Workflow
from stretto.components.python.decorator import component_of
from stretto.testing import run_virtual
from stretto.types.protocols import Component
from tests.unit.runtime.conftest import WorkflowOf

TWO = """
stretto: 1
name: two
durability: none
steps:
  - {name: first, component: first, input_mapping: {n: input.n}}
  - {name: second, component: second, input_mapping: {n: input.n}}
output: {first: steps.first.n, second: steps.second.n}
"""


class Told:
    """What components said of their opening and closing, and which of them refuses to open."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.refusing = ""
        self.opening_takes_s = 0.0
        self.closing_takes_s = 0.0
        self.is_tied = False
        """Whether what they hold can be closed in its own event loop only."""

    def component(self, name: str, version: str = "1.0.0") -> Any:
        """A class that tells when it is opened and closed."""
        told = self

        @stretto.component(name, version, effects="pure")
        class Telling:
            async def open(self) -> None:
                await asyncio.sleep(told.opening_takes_s)
                if told.refusing == name:
                    raise ValueError("no")
                told.said.append(f"open {name} {version}")
                self.is_open = True
                self.loop = asyncio.get_running_loop()

            async def __call__(self, n: int) -> dict[str, int]:
                assert self.is_open
                assert self.loop is asyncio.get_running_loop()
                return {"n": n}

            async def close(self) -> None:
                await asyncio.sleep(told.closing_takes_s)
                self.is_open = False
                if told.is_tied:
                    self.loop.call_soon(print)
                told.said.append(f"close {name} {version}")

        return Telling

    def both(self) -> tuple[Any, Any]:
        """The components of `TWO`."""
        return self.component("first"), self.component("second")


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def workflow(workflow_of: WorkflowOf, told: Told) -> Workflow:
    return workflow_of(TWO, *told.both())


def declared(made: object) -> Component:
    found = component_of(made)
    assert found is not None
    return found


def function(name: str) -> Any:
    """A component that holds nothing."""

    @stretto.component(name, effects="pure")
    async def plain(n: int) -> dict[str, int]:
        return {"n": n}

    return plain


ORDER = [("open", "1.0.0"), ("open", "2.0.0"), ("close", "2.0.0"), ("close", "1.0.0")]
OPENED = ["open first 1.0.0", "open second 1.0.0"]
CLOSED = ["close second 1.0.0", "close first 1.0.0"]


async def test_the_first_run_opens_all_and_closing_closes_the_newest_first(workflow: Workflow, told: Told) -> None:
    for _ in range(2):
        await workflow.run({"n": 1})
    assert told.said == OPENED
    await workflow.aclose()
    await workflow.aclose()
    assert told.said == OPENED + CLOSED


async def test_entering_opens_before_any_run(workflow: Workflow, told: Told) -> None:
    async with workflow:
        assert told.said == OPENED
        await workflow.open()
    assert told.said == OPENED + CLOSED


def test_a_script_opens_with_its_first_run(workflow: Workflow, told: Told) -> None:
    with workflow:
        assert told.said == []
        workflow.run_sync({"n": 1})
        assert told.said == OPENED
    assert told.said == OPENED + CLOSED


def test_runs_that_begin_at_the_same_time_wait_for_one_opening(workflow: Workflow, told: Told) -> None:
    told.opening_takes_s = 1.0

    async def main() -> list[stretto.Run]:
        async with workflow:
            return await asyncio.gather(*(workflow.run({"n": n}) for n in range(5)))

    assert {run.status for run in run_virtual(main())} == {"ok"}
    assert told.said == OPENED + CLOSED


async def test_closed_and_used_again_it_opens_again(workflow: Workflow, told: Told) -> None:
    for _ in range(2):
        async with workflow:
            assert (await workflow.run({"n": 1})).succeeded
    assert told.said == (OPENED + CLOSED) * 2


@pytest.mark.parametrize("closes", [1, 2])
def test_closing_while_it_opens_waits_and_leaves_nothing_open(workflow: Workflow, told: Told, closes: int) -> None:
    told.opening_takes_s = 1.0

    async def main() -> None:
        opening = asyncio.ensure_future(workflow.open())
        await asyncio.sleep(1.5)  # the first is open, the second about to be
        await asyncio.gather(*(workflow.aclose() for _ in range(closes)))
        await opening
        assert told.said == OPENED + CLOSED
        async with workflow:
            assert (await workflow.run({"n": 1})).succeeded

    run_virtual(main())
    assert told.said == (OPENED + CLOSED) * 2


def test_opening_while_it_closes_waits_and_opens_again(workflow: Workflow, told: Told) -> None:
    told.closing_takes_s = 1.0

    async def main() -> None:
        await workflow.open()
        closing = asyncio.ensure_future(workflow.aclose())
        await asyncio.sleep(0.5)
        assert (await workflow.run({"n": 1})).succeeded
        await closing
        await workflow.aclose()

    run_virtual(main())
    assert told.said == (OPENED + CLOSED) * 2


def test_an_opening_that_is_cancelled_while_it_is_closed_leaves_nothing_open(workflow: Workflow, told: Told) -> None:
    told.opening_takes_s = 1.0

    async def main() -> None:
        opening = asyncio.ensure_future(workflow.open())
        await asyncio.sleep(1.5)
        closing = asyncio.ensure_future(workflow.aclose())
        await asyncio.sleep(0)
        opening.cancel()
        await closing
        assert opening.cancelled()

    run_virtual(main())
    assert told.said == ["open first 1.0.0", "close first 1.0.0"]


class TestSharing:
    async def test_closing_a_changed_workflow_leaves_what_the_original_needs(
        self, workflow: Workflow, told: Told
    ) -> None:
        async with workflow:
            async with workflow.with_component(declared(told.component("second", "2.0.0"))) as changed:
                assert (await changed.run({"n": 1})).succeeded
            assert told.said == [*OPENED, "open second 2.0.0", "close second 2.0.0"]
            assert (await workflow.run({"n": 1})).succeeded
        assert told.said[-2:] == CLOSED

    async def test_the_last_of_them_closes_whichever_that_is(self, workflow: Workflow, told: Told) -> None:
        changed = workflow.with_component(declared(told.component("second", "2.0.0")))
        await workflow.open()
        await changed.open()
        await workflow.aclose()
        assert (await changed.run({"n": 1})).succeeded
        await changed.aclose()
        assert told.said == [*OPENED, "open second 2.0.0", CLOSED[0], "close second 2.0.0", CLOSED[1]]

    async def test_a_change_of_a_change_shares_as_well(self, workflow: Workflow, told: Told) -> None:
        once = workflow.with_component(declared(told.component("second", "2.0.0")))
        twice = once.with_component(declared(told.component("second", "3.0.0")))
        async with workflow, twice:
            pass
        assert told.said.count("open first 1.0.0") == told.said.count("close first 1.0.0") == 1

    def test_two_that_open_at_once_wait_for_one_opening(self, workflow: Workflow, told: Told) -> None:
        told.opening_takes_s = 1.0

        async def main() -> None:
            changed = workflow.with_component(declared(told.component("second", "2.0.0")))
            await asyncio.gather(workflow.open(), changed.open())
            await asyncio.gather(workflow.aclose(), changed.aclose())

        run_virtual(main())
        assert sorted(told.said) == sorted([*OPENED, *CLOSED, "open second 2.0.0", "close second 2.0.0"])

    async def test_one_that_fails_to_open_lets_go_of_what_it_shares(self, workflow: Workflow, told: Told) -> None:
        told.refusing = "second"
        changed = workflow.with_component(declared(told.component("second", "2.0.0")))
        for _ in range(2):
            with pytest.raises(stretto.ComponentError, match="'second'"):
                await changed.open()
        assert told.said == ["open first 1.0.0", "close first 1.0.0"] * 2
        told.refusing = ""
        async with workflow:
            assert (await workflow.run({"n": 1})).succeeded

    def test_who_waits_for_an_opening_that_fails_tries_by_himself(self, workflow: Workflow, told: Told) -> None:
        told.opening_takes_s, told.refusing = 1.0, "first"

        async def relent() -> None:
            await asyncio.sleep(1.5)  # the first has failed, the other is at it
            told.refusing = ""

        async def main() -> tuple[BaseException | None, ...]:
            changed = workflow.with_component(declared(told.component("second", "2.0.0")))
            results = await asyncio.gather(workflow.open(), changed.open(), relent(), return_exceptions=True)
            await changed.aclose()
            return results

        failed, opened, _ = run_virtual(main())
        assert isinstance(failed, stretto.ComponentError)
        assert opened is None
        assert told.said == ["open first 1.0.0", "open second 2.0.0", "close second 2.0.0", "close first 1.0.0"]


class TestEventLoops:
    def test_what_an_ended_loop_left_is_closed_and_opened_again_in_the_next(
        self, workflow: Workflow, told: Told, caplog: pytest.LogCaptureFixture
    ) -> None:
        for n in range(3):
            assert asyncio.run(workflow.run({"n": n})).succeeded
        workflow.close()
        assert told.said == (OPENED + CLOSED) * 3
        assert caplog.messages == []

    def test_what_cannot_be_closed_any_more_is_told_of_and_left(
        self, workflow: Workflow, told: Told, caplog: pytest.LogCaptureFixture
    ) -> None:
        told.is_tied = True
        for n in range(2):
            assert asyncio.run(workflow.run({"n": n})).succeeded
        assert told.said == OPENED * 2
        for name, text in zip(("second", "first"), caplog.messages, strict=True):
            assert text.startswith(
                f"component '{name}', left open in an event loop that has ended, did not close: component '{name}' "
                "raised RuntimeError: Event loop is closed"
            )

    def test_closing_in_the_next_loop_closes_what_the_last_one_left(self, workflow: Workflow, told: Told) -> None:
        asyncio.run(workflow.run({"n": 1}))
        asyncio.run(workflow.aclose())
        asyncio.run(workflow.aclose())
        assert told.said == OPENED + CLOSED

    def test_many_that_begin_in_the_next_loop_wait_for_one_opening(self, workflow: Workflow, told: Told) -> None:
        changed = workflow.with_component(declared(told.component("second", "2.0.0")))

        async def main() -> None:
            runs = await asyncio.gather(*(each.run({"n": n}) for n in range(3) for each in (workflow, changed)))
            assert all(run.succeeded for run in runs)

        for _ in range(2):
            told.said.clear()
            asyncio.run(main())
        opened = [said for said in told.said if said.startswith("open")]
        assert sorted(opened) == [*OPENED, "open second 2.0.0"]

    def test_of_two_that_share_one_may_be_used_in_the_next_loop_and_the_other_follows(
        self, workflow: Workflow, told: Told
    ) -> None:
        changed = workflow.with_component(declared(told.component("second", "2.0.0")))

        async def both() -> None:
            assert (await workflow.run({"n": 1})).succeeded
            assert (await changed.run({"n": 1})).succeeded

        asyncio.run(both())
        told.said.clear()

        async def again() -> None:
            await both()
            await workflow.aclose()
            assert (await changed.run({"n": 1})).succeeded
            await changed.aclose()

        asyncio.run(again())
        left, opened, closed = told.said[:3], told.said[3:6], told.said[6:]
        assert left == ["close second 2.0.0", *CLOSED]
        assert opened == [*OPENED, "open second 2.0.0"]
        assert closed == ["close second 1.0.0", "close second 2.0.0", "close first 1.0.0"]

    def test_a_loop_that_runs_in_another_thread_keeps_them(
        self, workflow: Workflow, told: Told, elsewhere: asyncio.AbstractEventLoop
    ) -> None:
        asyncio.run_coroutine_threadsafe(workflow.open(), elsewhere).result()
        refused = "this workflow is open in another event loop, which runs in another thread; load a workflow for each"
        for call in (workflow.run({"n": 1}), workflow.open(), workflow.aclose()):
            with pytest.raises(stretto.UsageError, match=refused):
                asyncio.run(call)
        with pytest.raises(stretto.UsageError, match=refused):
            workflow.run_sync({"n": 1})
        assert told.said == OPENED
        assert asyncio.run_coroutine_threadsafe(workflow.run({"n": 1}), elsewhere).result().succeeded
        asyncio.run_coroutine_threadsafe(workflow.aclose(), elsewhere).result()
        assert asyncio.run(workflow.run({"n": 1})).succeeded

    def test_a_loop_that_rests_is_the_one_to_close_them(self, workflow: Workflow, told: Told) -> None:
        with asyncio.Runner() as resting:
            resting.run(workflow.open())
            with pytest.raises(
                stretto.UsageError, match=r"not at work but has not ended; .* `await workflow\.aclose\(\)`"
            ):
                workflow.close()
            assert told.said == OPENED
            resting.run(workflow.aclose())
        assert told.said == OPENED + CLOSED

    def test_where_nothing_is_held_every_loop_may_use_it(
        self, workflow_of: WorkflowOf, elsewhere: asyncio.AbstractEventLoop
    ) -> None:
        workflow = workflow_of(TWO, *(function(name) for name in ("first", "second")))

        def there() -> stretto.Run:
            return asyncio.run_coroutine_threadsafe(workflow.run({"n": 1}), elsewhere).result()

        async def both() -> tuple[stretto.Run, ...]:
            return await asyncio.gather(workflow.run({"n": 1}), asyncio.to_thread(there), workflow.run({"n": 2}))

        assert all(run.succeeded for _ in range(2) for run in asyncio.run(both()))
        workflow.run_sync({"n": 1})
        workflow.close()
        assert there().succeeded

    def test_what_shares_nothing_that_is_open_may_be_open_in_another_loop(
        self, workflow_of: WorkflowOf, told: Told, elsewhere: asyncio.AbstractEventLoop
    ) -> None:
        workflow = workflow_of(TWO, told.component("first"), function("second"))
        changed = workflow.with_component(declared(told.component("first", "2.0.0")))
        asyncio.run_coroutine_threadsafe(workflow.open(), elsewhere).result()
        assert changed.run_sync({"n": 1}).succeeded
        changed.close()
        asyncio.run_coroutine_threadsafe(workflow.aclose(), elsewhere).result()
        assert told.said == [f"{done} first {version}" for done, version in ORDER]

    def test_a_loop_that_opens_them_in_another_thread_keeps_them(
        self, workflow: Workflow, told: Told, elsewhere: asyncio.AbstractEventLoop
    ) -> None:
        told.opening_takes_s = 60.0
        opening = asyncio.run_coroutine_threadsafe(workflow.open(), elsewhere)
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0), elsewhere).result()
        with pytest.raises(stretto.UsageError, match="runs in another thread"):
            asyncio.run(workflow.run({"n": 1}))
        opening.cancel()

    def test_what_two_workflows_share_stays_in_the_loop_of_the_one_that_has_it(
        self, workflow: Workflow, told: Told, elsewhere: asyncio.AbstractEventLoop
    ) -> None:
        changed = workflow.with_component(declared(told.component("second", "2.0.0")))
        asyncio.run_coroutine_threadsafe(workflow.open(), elsewhere).result()
        with pytest.raises(stretto.UsageError, match="component 'first', which this workflow shares with another, is"):
            asyncio.run(changed.run({"n": 1}))
        asyncio.run_coroutine_threadsafe(workflow.aclose(), elsewhere).result()
        assert told.said == OPENED + CLOSED

    def test_a_loop_that_rests_keeps_them_until_the_workflow_is_closed(self, workflow: Workflow, told: Told) -> None:
        workflow.run_sync({"n": 1})
        with pytest.raises(stretto.UsageError, match=r"has not ended; close the workflow first: `workflow\.close\(\)`"):
            asyncio.run(workflow.run({"n": 1}))
        workflow.close()
        assert asyncio.run(workflow.run({"n": 1})).succeeded
        assert told.said == OPENED + CLOSED + OPENED

    def test_scripts_use_one_loop_for_a_workflow_and_those_made_from_it(self, workflow: Workflow, told: Told) -> None:
        changed = workflow.with_component(declared(told.component("second", "2.0.0")))
        for each in (workflow, changed, workflow):
            assert each.run_sync({"n": 1}).succeeded
        workflow.close()
        assert changed.run_sync({"n": 1}).succeeded
        changed.close()
        assert told.said == [*OPENED, "open second 2.0.0", CLOSED[0], "close second 2.0.0", CLOSED[1]]


@pytest.fixture
def elsewhere() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop that runs in another thread."""
    running: Future[asyncio.AbstractEventLoop] = Future()
    stop = asyncio.Event()

    async def main() -> None:
        running.set_result(asyncio.get_running_loop())
        await stop.wait()

    thread = threading.Thread(target=asyncio.run, args=(main(),))
    thread.start()
    yield running.result()
    running.result().call_soon_threadsafe(stop.set)
    thread.join()
