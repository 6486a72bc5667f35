"""Branches that run at the same time, and the step that waits for all of them."""

import stretto


@stretto.component(version="1.0.0", effects="pure")
async def parse(text: str) -> dict[str, list[str]]:
    return {"words": text.split()}


@stretto.component(version="1.0.0", effects="pure")
async def length(words: list[str]) -> dict[str, int]:
    return {"count": len(words)}


@stretto.component(version="1.0.0", effects="pure")
async def first(words: list[str]) -> dict[str, str]:
    return {"word": words[0]}


@stretto.component(version="1.0.0", effects="read")
async def shop(name: str) -> dict[str, bool]:
    return {"open": name != "closed"}


@stretto.component(version="1.0.0", effects="pure", inline=True)
def join(count: int, word: str, open: bool) -> dict[str, str]:  # noqa: A002  # the workflow's word
    return {"text": f"{count} from {word}, {'open' if open else 'closed'}"}
