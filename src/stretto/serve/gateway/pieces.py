"""The chunks of a stream put together to the answer that the server would have sent whole."""

from typing import Any, Final

_TEXTS: Final = ("content", "refusal", "reasoning", "reasoning_content")
"""Fields of a delta that are pieces of a text."""

_LISTS: Final = ("content", "refusal", "token_logprobs", "tokens")
"""Fields of log-probabilities that have an entry for each token."""

_HEAD: Final = ("id", "model", "system_fingerprint", "usage", "prompt_token_ids", "timings")
"""Fields of a chunk that the whole answer has too; what came last counts."""

_TOKENS: Final = ("logprobs", "token_ids", "meta_info")
"""Fields of a choice that tell of its tokens one by one."""

_LAST: Final = ("finish_reason", "prompt_token_ids", "meta_info")


class Pieces:
    """One answer as it grows. It is outside data: what has another form than it should is passed over."""

    def __init__(self) -> None:
        self._head: dict[str, Any] = {}
        self._choices: dict[int, dict[str, Any]] = {}
        self.unread = 0
        """Events that carried something and no chunk: what they said of the answer, nobody knows."""

    @property
    def begun(self) -> bool:
        """Whether anything of an answer came."""
        return bool(self._choices)

    @property
    def ended(self) -> bool:
        """Whether every choice said why it ended."""
        return self.begun and all(choice.get("finish_reason") for choice in self._choices.values())

    def add(self, chunk: dict[str, Any]) -> None:
        """Take in the next chunk."""
        self._head |= {name: chunk[name] for name in _HEAD if chunk.get(name) is not None}
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict):
                index = choice.get("index")
                self._grow(self._choices.setdefault(index if isinstance(index, int) else 0, {"message": {}}), choice)

    def body(self) -> dict[str, Any]:
        """The answer so far, in the form of a whole one; without its tokens, where some of it could not be read."""
        choices = [_settled(self._choices[index]) for index in sorted(self._choices)]
        if self.unread:
            choices = [{name: told for name, told in each.items() if name not in _TOKENS} for each in choices]
        return {**self._head, "choices": choices}

    def _grow(self, grown: dict[str, Any], choice: dict[str, Any]) -> None:
        delta = choice.get("delta")
        said = delta if isinstance(delta, dict) else {"content": choice.get("text")}
        message = grown["message"]
        for name in _TEXTS:
            if isinstance(said.get(name), str):
                message.setdefault(name, []).append(said[name])
        calls = said.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict):
                _grow_call(message.setdefault("tool_calls", {}), call)
        logprobs = choice.get("logprobs")
        if isinstance(logprobs, dict):
            for name in _LISTS:
                if isinstance(logprobs.get(name), list):
                    grown.setdefault("logprobs", {}).setdefault(name, []).extend(logprobs[name])
        if isinstance(choice.get("token_ids"), list):
            grown.setdefault("token_ids", []).extend(choice["token_ids"])
        grown |= {name: choice[name] for name in _LAST if choice.get(name) is not None}


def _grow_call(calls: dict[int, dict[str, Any]], call: dict[str, Any]) -> None:
    index = call.get("index")
    at = index if isinstance(index, int) else len(calls)
    grown = calls.setdefault(at, {"function": {"name": "", "arguments": []}})
    if call.get("id"):
        grown["id"] = call["id"]
    function = call.get("function")
    if isinstance(function, dict):
        if isinstance(function.get("name"), str):
            grown["function"]["name"] += function["name"]
        if function.get("arguments"):
            grown["function"]["arguments"].append(function["arguments"])


def _settled(grown: dict[str, Any]) -> dict[str, Any]:
    """A choice with its lists of pieces as texts."""
    message: dict[str, Any] = {"role": "assistant"}
    for name, pieces in grown["message"].items():
        message[name] = (
            [_settled_call(call) for _, call in sorted(pieces.items())] if name == "tool_calls" else "".join(pieces)
        )
    return {**grown, "message": message, "text": message.get("content", "")}


def _settled_call(call: dict[str, Any]) -> dict[str, Any]:
    arguments = call["function"]["arguments"]
    is_text = all(isinstance(piece, str) for piece in arguments)
    told = "".join(arguments) if is_text else arguments[-1]  # some servers send the object itself
    return {**call, "function": {"name": call["function"]["name"], "arguments": told}}
