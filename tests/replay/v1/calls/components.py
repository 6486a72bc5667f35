"""A component that calls another one, twice."""

import stretto
from stretto import Context


@stretto.component(version="1.0.0", effects="read")
async def look(word: str) -> dict[str, int]:
    return {"found": len(word)}


@stretto.component(version="1.0.0", effects="read")
async def agent(question: str, context: Context) -> dict[str, str]:
    answers = [await context.call("look", word=word) for word in question.split()]
    return {"text": ", ".join(str(answer["found"]) for answer in answers)}


@stretto.component(version="1.0.0", effects="pure")
async def sign(text: str) -> dict[str, str]:
    return {"text": f"{text}. Yours, the desk"}
