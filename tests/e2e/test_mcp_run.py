"""A workflow whose steps call a real MCP server: sessions, nested calls, and a server that dies in the middle."""

import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from stretto.runtime.load import load
from stretto.runtime.workflow import Workflow
from stretto.types.enums import Reason, RunStatus

SCRIPTED = Path(__file__).parent / "servers" / "scripted.py"

COMPONENTS = """
from stretto import Context, component

@component(effects="write")
async def twice(ctx: Context) -> dict:
    for _ in range(2):
        answer = await ctx.call("shop", tool="count", arguments={})
    return answer["result"]
"""

Start = Callable[..., Awaitable[Workflow]]


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    living: list[Workflow] = []

    async def begin(steps: str, **options: Any) -> Workflow:
        shop = {"kind": "mcp", "command": [sys.executable, str(SCRIPTED)], **options}
        (tmp_path / "components.py").write_text(COMPONENTS)
        text = orjson.dumps(["components.py", {"shop": shop}]).decode()
        (tmp_path / "workflow.yaml").write_text(f"stretto: 1\nname: shop\ncomponents: {text}\n{steps}")
        living.append(load(tmp_path / "workflow.yaml", store=tmp_path / "runs.db"))
        return living[-1]

    yield begin
    for workflow in living:
        await workflow.aclose()


async def test_steps_and_nested_calls_of_a_run_share_its_session(start: Start) -> None:
    workflow = await start(
        """
        steps:
          - { name: nested, component: twice, input_mapping: {} }
          - name: direct
            component: shop
            needs: [nested]
            input_mapping: { tool: "'count'" }
        output: { nested: steps.nested.count, direct: steps.direct.result.count }
        """.replace("\n        ", "\n"),
        session={"argument": "key", "values": ["only"], "reset": {"tool": "reset"}},
    )
    for _ in range(2):
        run = await workflow.run({})
        assert run.status is RunStatus.OK, run.error
        assert orjson.loads(bytes(run.output)) == {"nested": 2, "direct": 3}, "the second run is given the value reset"


async def test_a_server_that_dies_during_a_write_parks_the_run(start: Start) -> None:
    workflow = await start("""steps: [{ name: s, component: shop, input_mapping: { tool: "'die'" } }]""")
    run = await workflow.run({})
    assert (run.status, run.reason) == (RunStatus.PARKED, Reason.IN_DOUBT)
    assert run.error is not None
    assert "exit code 3" in run.error.message


async def test_a_server_that_dies_during_a_read_is_asked_again(start: Start) -> None:
    steps = """
steps:
  - name: s
    component: shop
    input_mapping: { tool: "'read_then_die'" }
    resilience: { retry: { attempts: 2, base: 1ms }, fallback: { output: { ok: false, result: null } } }
output: { ok: steps.s.ok }
"""
    run = await (await start(steps)).run({})
    assert run.status is RunStatus.DEGRADED, run.error
    assert [attempt.error is not None for attempt in run.steps[0].attempts] == [True, True]
