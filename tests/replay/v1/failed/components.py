"""A step that breaks its schema, and nothing that answers instead."""

from typing import TypedDict

import stretto


class Counted(TypedDict):
    count: int


@stretto.component(version="1.0.0", effects="pure")
async def split(text: str) -> dict[str, list[str]]:
    return {"words": text.split()}


@stretto.component(version="1.0.0", effects="pure")
async def count(words: list[str]) -> Counted:
    return {"count": "many"}  # type: ignore[typeddict-item]  # the mistake that fails the run
