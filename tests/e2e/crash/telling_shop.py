"""The real shop, which can be asked about writes in doubt."""

from typing import Any

import stretto
from stretto.components.mcp import CallTool
from tests.e2e.crash.retail import retail


async def confirm(call: CallTool, request: stretto.Request) -> stretto.Response | None:
    """Look the write up in the server's own log. Each run has a log of its own, and makes each write once."""
    log: Any = await call("get_call_log")
    for made in log["result"]["calls"]:
        asked, told = made["tau2_tool_call"], made["tau2_tool_message"]
        if (asked["name"], asked["arguments"]) == (request.input["tool"], request.input["arguments"]):
            return stretto.Response(output={"ok": not told["error"], "result": None})
    return None


shop = retail(confirm=confirm)
