"""A loop whose rounds know each other through what they carry."""

from typing import TypedDict

import stretto


class Asked(TypedDict):
    answer: str
    done: bool


class Noted(TypedDict):
    facts: list[str]


@stretto.component(version="1.0.0", effects="pure")
async def ask(facts: list[str], turn: int) -> Asked:
    return {"answer": f"fact {turn}", "done": len(facts) >= 3}


@stretto.component(version="1.0.0", effects="pure")
async def note(facts: list[str], answer: str) -> Noted:
    return {"facts": [*facts, answer]}
