"""The components of the workflow that the cases change."""

from typing import TypedDict

import stretto


class Answer(TypedDict):
    """With one field, so that a condition on another is told."""

    text: str


@stretto.component(effects="read")
def api(intent: str) -> Answer:
    """Says what was asked."""
    return {"text": intent}


@stretto.component(effects="write")
def writer() -> dict[str, str]:
    """Writes nothing."""
    return {"text": ""}


@stretto.component(effects="pure")
def rules() -> dict[str, str]:
    """Answers for what failed."""
    return {"reply": "later"}
