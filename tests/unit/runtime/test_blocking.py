"""What a script left open is closed all the same: when another begins, and when the program ends."""

import asyncio
import gc
import subprocess
import sys
import threading
from pathlib import Path

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
    await asyncio.to_thread(workflows[0].run_sync, {})
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
    entered, leave = threading.Event(), threading.Event()

    @stretto.component("held")
    def held() -> None:
        entered.set()
        leave.wait()

    with workflow_of(ONE, held) as workflow:
        first = threading.Thread(target=workflow.run_sync, args=({},))
        first.start()
        entered.wait()
        try:
            with pytest.raises(UsageError, match="another thread is in a call of this workflow that blocks; load"):
                workflow.run_sync({})
        finally:
            leave.set()
            first.join()
        assert workflow.run_sync({}).succeeded
