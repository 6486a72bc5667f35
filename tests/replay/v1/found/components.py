"""What makes the memory's vectors, and a step that reads what was found."""

import stretto


@stretto.component("embedder", "1.0.0", effects="pure")
async def embed(texts: list[str]) -> dict[str, list[list[float]]]:
    return {"vectors": [[float("parcel" in text), 0.5] for text in texts]}


@stretto.component(version="1.0.0", effects="pure")
async def reply(found: list[dict[str, object]]) -> dict[str, object]:
    first = found[0] if found else {"value": "I do not know", "score": None}
    return {"text": first["value"], "score": first["score"]}
