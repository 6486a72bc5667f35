"""Takes out of an answer what the gateway asked for and the agent did not, so that it sees what it would have seen."""

from typing import Any

from stretto.serve.gateway.ask import Kept


def hide(body: dict[str, Any], kept: Kept, *, is_chunk: bool) -> bool:
    """Change the answer in place; whether anything is left of it to send. Any: outside bytes, looked at before use."""
    if not kept.token_ids:
        body.pop("prompt_token_ids", None)
    choices = body.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, dict):
            _hide_in(choice, kept)
    if is_chunk and not kept.usage:
        told = body.pop("usage", None)
        return not (told and choices == [])  # the chunk that only tells usage was not asked for
    return True


def _hide_in(choice: dict[str, Any], kept: Kept) -> None:
    if not kept.token_ids:
        choice.pop("token_ids", None)
        choice.pop("prompt_token_ids", None)
    if not kept.meta_info:
        choice.pop("meta_info", None)
    logprobs = choice.get("logprobs")
    if not logprobs:
        return
    if not kept.logprobs:
        choice["logprobs"] = None
    elif not kept.top_logprobs and isinstance(logprobs, dict):
        _hide_alternatives(logprobs)


def _hide_alternatives(logprobs: dict[str, Any]) -> None:
    """Of tokens whose alternatives nobody asked for, as servers send them for 0."""
    if isinstance(logprobs.get("top_logprobs"), list):  # of a text completion
        logprobs["top_logprobs"] = None
    for name in ("content", "refusal"):
        tokens = logprobs.get(name)
        for token in tokens if isinstance(tokens, list) else ():
            if isinstance(token, dict):
                token["top_logprobs"] = []
