"""A memory that answers once, and steps that read it and the caller's resources."""

from typing import TypedDict

import stretto


class Recent(TypedDict):
    recent: list[str]


@stretto.component(version="1.0.0", effects="read", kind="memory")
async def known() -> Recent:
    return {"recent": ["Grace"]}


@stretto.component(version="1.0.0", effects="pure")
async def greet(name: str, before: list[str], shop: str) -> dict[str, str]:
    return {"text": f"{name} after {', '.join(before)} at {shop}"}


@stretto.component(version="1.0.0", effects="pure")
async def lower(text: str) -> dict[str, str]:
    return {"text": text.lower()}
