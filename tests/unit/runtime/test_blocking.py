"""What a script left open is closed all the same: when another begins, and when the program ends."""

import asyncio
import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import stretto
from stretto.types.errors import UsageError
from tests.unit.runtime.conftest import WorkflowOf

ONE = """
steps:
  - {name: held, component: held}
"""

SCRIPT = """
import stretto

workflow = stretto.load("workflow.yaml", store="runs.db")
print(workflow.run_sync({}).status)
"""

COMPONENTS = """
import asyncio
import stretto

@stretto.component("held")
class Held:
    async def __call__(self) -> dict:
        return {"loop": id(asyncio.get_running_loop())}

    async def open(self) -> None:
        self.loop = asyncio.get_running_loop()

    async def close(self) -> None:
        await asyncio.sleep(0)
        print("closed in its own loop:", self.loop is asyncio.get_running_loop())
"""


def held(told: list[str]) -> type:
    @stretto.component("held")
    class Held:
        async def __call__(self) -> dict[str, str]:
            return {}

        async def open(self) -> None:
            told.append("open")

        async def close(self) -> None:
            told.append("close")

    return Held


class Gate:
    """A component of which the first call waits until it is let through."""

    def __init__(self) -> None:
        self._entered, self._leave = threading.Event(), threading.Event()

    def function(self, name: str) -> Any:
        @stretto.component(name)
        def waiting() -> None:
            if not self._entered.is_set():
                self._entered.set()
                self._leave.wait()

        return waiting

    @contextmanager
    def passed_by(self, workflow: stretto.Workflow) -> Iterator[None]:
        """A thread runs the workflow, and waits in it meanwhile."""
        ran: list[stretto.Run] = []
        thread = threading.Thread(target=lambda: ran.append(workflow.run_sync({})))
        thread.start()
        self._entered.wait()
        try:
            yield
        finally:
            self._leave.set()
            thread.join()
        assert ran[0].succeeded


def test_what_nothing_refers_to_is_closed_when_another_begins(workflow_of: WorkflowOf) -> None:
    told: list[str] = []
    workflow = workflow_of(ONE, held(told))
    for _ in range(2):
        assert workflow.run_sync({}).succeeded
    del workflow
    gc.collect()
    assert told == ["open"]
    with workflow_of(ONE, held(told)) as other:
        other.run_sync({})
        assert told == ["open", "close", "open"]
    assert told == ["open", "close"] * 2


async def test_where_an_event_loop_runs_it_waits_for_the_next_that_may_begin_one(workflow_of: WorkflowOf) -> None:
    told: list[str] = []
    workflows = [workflow_of(ONE, held(told)), workflow_of(ONE, held(told))]
    thread = threading.Thread(target=workflows[0].run_sync, args=({},))
    thread.start()
    thread.join()  # a thread of a pool may hold what it was given a moment longer
    del thread
    workflows.pop(0)
    gc.collect()
    await asyncio.sleep(0)
    assert told == ["open"]
    await asyncio.to_thread(workflows[0].close)
    assert told == ["open", "close"]


def test_what_was_closed_is_not_closed_again_and_may_be_used_again(workflow_of: WorkflowOf) -> None:
    told: list[str] = []
    workflow = workflow_of(ONE, held(told))
    workflow.run_sync({})
    workflow.close()
    workflow.close()
    assert told == ["open", "close"]
    workflow.run_sync({})
    workflow.close()
    del workflow
    gc.collect()
    workflow_of(ONE, held([])).close()
    assert told == ["open", "close"] * 2


def test_a_script_that_closes_nothing_ends_with_everything_closed(tmp_path: Path) -> None:
    (tmp_path / "workflow.yaml").write_text(ONE)
    (tmp_path / "components.py").write_text(COMPONENTS)
    command = [sys.executable, "-W", "error", "-c", SCRIPT]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["ok", "closed in its own loop: True"]


def test_a_second_thread_is_told_that_the_first_is_in_the_loop(workflow_of: WorkflowOf) -> None:
    gate = Gate()
    with workflow_of(ONE, gate.function("held")) as workflow:
        with (
            gate.passed_by(workflow),
            pytest.raises(UsageError, match="another thread is in a call that blocks, of this workflow or of"),
        ):
            workflow.run_sync({})
        assert workflow.run_sync({}).succeeded


THREE = """
steps:
  - {name: held, component: held}
  - {name: other, component: other}
"""


@stretto.component("other")
def other() -> None: ...


class TestThreads:
    """While one thread is in a call of a workflow, another uses one that was made from it."""

    @pytest.fixture
    def gate(self) -> Gate:
        return Gate()

    def test_what_holds_nothing_in_common_runs_beside_it(self, workflow_of: WorkflowOf, gate: Gate) -> None:
        told: list[str] = []
        workflow = workflow_of(THREE, gate.function("held"), other)
        with workflow, gate.passed_by(workflow):
            for each in (workflow.for_rollouts(), workflow.with_component(held(told)), workflow.with_component(other)):
                with each:
                    assert each.run_sync({}).succeeded
        assert told == ["open", "close"]

    def test_what_shares_with_it_is_told_so(self, workflow_of: WorkflowOf, gate: Gate) -> None:
        told: list[str] = []
        workflow = workflow_of(THREE, held(told), gate.function("other"))
        changed = workflow.with_component(other)
        with gate.passed_by(workflow), pytest.raises(UsageError, match="of this workflow or of one that shares what"):
            changed.run_sync({})
        assert changed.run_sync({}).succeeded
        workflow.close()
        changed.close()
        assert told == ["open", "close"]

    def test_closing_waits_for_none_that_holds_nothing_in_common(self, workflow_of: WorkflowOf, gate: Gate) -> None:
        told: list[str] = []
        workflow = workflow_of(THREE, held(told), other)
        apart = workflow.with_component(gate.function("held"))
        with gate.passed_by(apart):
            assert workflow.run_sync({}).succeeded
            workflow.close()
            assert told == ["open", "close"]
