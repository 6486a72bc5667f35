"""A planner, and two ways to go on: one of them is skipped."""

from typing import Any, TypedDict

import stretto


class Plan(TypedDict):
    plan: list[dict[str, Any]]


class Done(TypedDict):
    done: bool


@stretto.component(version="1.0.0", effects="pure")
async def planner(query: str) -> Plan:
    order = query.rpartition(" ")[2]
    return {"plan": [{"type": "api_call" if order.startswith("#") else "escalate", "order": order}]}


@stretto.component(version="1.2.0", effects="read")
async def executor(order: str) -> Done:
    return {"done": order != "#W0"}


@stretto.component(version="1.0.0", effects="pure")
async def escalate(query: str) -> dict[str, str]:
    return {"desk": "billing" if "refund" in query else "general"}


@stretto.component(version="1.0.0", effects="pure")
async def reply(done: bool | None, desk: str | None) -> dict[str, str]:
    return {"text": "Done." if done else f"Ask the {desk or 'front'} desk."}
