"""The engine of a workflow, for batches: in which event loop it works, and when that one ends."""

import asyncio
from pathlib import Path

import stretto
from stretto.learn.differentiable.host import Host
from tests.unit.learn.differentiable.made import loaded


async def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


def _workflow(folder: Path) -> stretto.Workflow:
    steps = "  - {name: out, component: holding}\n"
    return loaded(folder, steps, output="{times: steps.out.times}")


def test_what_is_closed_leaves_no_event_loop_and_begins_another_when_it_is_used_again(tmp_path: Path) -> None:
    host = Host(_workflow(tmp_path))
    loops = []
    for _ in range(2):
        loops.append(host.run(_loop()))
        assert not loops[-1].is_closed()
        host.close()
        host.close()
    assert loops[0] is not loops[1]
    assert all(loop.is_closed() for loop in loops)


def test_a_loop_in_which_another_workflow_has_something_open_ends_with_that_one(tmp_path: Path) -> None:
    workflow = _workflow(tmp_path)
    assert workflow.run_sync({}).succeeded
    host = Host(workflow.for_rollouts())
    loop = host.run(_loop())
    host.close()
    assert not loop.is_closed()
    assert workflow.run_sync({}).output_value == {"times": 2}
    workflow.close()
    assert loop.is_closed()


def test_what_was_opened_in_a_running_event_loop_is_used_on_and_closed_after_it(tmp_path: Path) -> None:
    workflow = _workflow(tmp_path)
    host = Host(workflow)

    async def inside() -> asyncio.AbstractEventLoop:
        return host.run(_loop())

    loop = asyncio.run(inside())
    assert host.run(_loop()) is loop
    host.close()
    assert workflow.run_sync({}).succeeded
    workflow.close()
