"""A model that is away, what answers in its place, and a step that breaks its schema."""

from typing import TypedDict

import stretto
from stretto import Code, ComponentError


class Text(TypedDict):
    text: str


class Tone(TypedDict):
    tone: str


@stretto.component(version="1.0.0", effects="read")
async def model(words: str) -> Text:
    raise ComponentError("the model is away", Code.UNAVAILABLE)


@stretto.component(version="1.0.0", effects="pure")
async def card(words: str) -> Text:
    return {"text": f"We call you back about '{words}'."}


@stretto.component(version="1.0.0", effects="pure")
async def tone(words: str) -> Tone:
    return {"tone": len(words)}  # type: ignore[typeddict-item]  # the mistake that the fallback answers for


@stretto.component(version="1.0.0", effects="pure")
async def answer(text: str, tone: str) -> dict[str, str]:
    return {"answer": f"({tone}) {text}"}
