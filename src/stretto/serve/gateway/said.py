"""What a request says so far, as digests: by them a call is known to go on with an earlier one.

A conversation is a chain: the digest of its first n messages follows from that of n - 1 and the nth. Its *meaning*
leaves out how a message is written: agents send an answer back with other spaces in its arguments, or without the
fields that are null. Its *form* is the messages as sent, which a record can leave out where they stand already. A text
prompt is a chain of its characters.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from typing import Any, Final, Protocol

import orjson

from stretto.serve.refused import Refused
from stretto.types.json import Json, JsonObject


class Chain(Protocol):
    """A digest that grows. SHA-256: processors have instructions for it, and it takes half the time of BLAKE2."""

    def update(self, data: bytes, /) -> None: ...

    def digest(self) -> bytes: ...

    def copy(self) -> "Chain": ...


_MOST_BRACKETS: Final = 200
"""Arguments with more of them are compared as the text that they are: they may be nested deeper than can be written."""

_PLAIN: Final = 2
"""Fields of a message that only says something: who, and what."""

_MESSAGES: Final = 'an array of messages, such as [{"role": "user", "content": "hello"}]'


class Said(Protocol):
    """What one request says."""

    field: str
    """Of the request: ``messages`` or ``prompt``."""

    def beginnings(self, lengths: Iterable[int]) -> Iterator[tuple[int, bytes]]:
        """The meaning of its first so many parts, for each of the lengths that it has, longest first."""
        ...

    @property
    def whole(self) -> bytes:
        """The meaning of all of it."""
        ...

    @property
    def length(self) -> int:
        """Its parts: messages, characters, ids."""
        ...

    def form_of(self, length: int) -> bytes:
        """Its first so many parts as sent."""
        ...

    def after(self, length: int) -> Json:
        """What stands behind its first so many parts."""
        ...

    def with_answer(self, message: JsonObject) -> tuple[int, bytes]:
        """Length and meaning of it with an answer."""
        ...


class Messages:
    """A conversation."""

    field = "messages"

    def __init__(self, given: Json) -> None:
        """Raises Refused for what is no conversation."""
        if not isinstance(given, list) or not given:
            raise Refused(400, f"`messages` is missing or empty; expected {_MESSAGES}", param="messages")
        for at, message in enumerate(given):
            if not isinstance(message, dict) or not isinstance(message.get("role"), str):
                raise Refused(400, f"message {at} has no role; expected {_MESSAGES}", param=f"messages[{at}]")
        self._given: list[Any] = given
        self._chain: Chain | None = None

    def beginnings(self, lengths: Iterable[int]) -> Iterator[tuple[int, bytes]]:
        wanted, chain, found = set(lengths), _chain(), []
        for length, message in enumerate(self._given, 1):
            chain.update(meaning_of(message))
            if length in wanted:
                found.append((length, chain.copy().digest()))
        self._chain = chain
        return reversed(found)

    @property
    def whole(self) -> bytes:
        return self._all().digest()

    @property
    def length(self) -> int:
        return len(self._given)

    def form_of(self, length: int) -> bytes:
        return digest_of_value(self._given[:length])

    def after(self, length: int) -> Json:
        return self._given[length:]

    def with_answer(self, message: JsonObject) -> tuple[int, bytes]:
        chain = self._all().copy()
        chain.update(meaning_of(message))
        return self.length + 1, chain.digest()

    def _all(self) -> Chain:
        """The chain to its end, which is gone through once."""
        if self._chain is None:
            self.beginnings(())
        return self._chain or _chain()


class Prompt:
    """A text to be gone on with."""

    field = "prompt"

    def __init__(self, given: str) -> None:
        self._given = given

    def beginnings(self, lengths: Iterable[int]) -> Iterator[tuple[int, bytes]]:
        """In one pass over the text, however many lengths there are."""
        found, chain, begun = [], _chain(), 0
        for length in sorted(each for each in lengths if each <= self.length):
            chain.update(self._given[begun:length].encode())
            begun = length
            found.append((length, chain.copy().digest()))
        return reversed(found)

    @property
    def whole(self) -> bytes:
        return self.form_of(self.length)

    @property
    def length(self) -> int:
        return len(self._given)

    def form_of(self, length: int) -> bytes:
        return _digest(self._given[:length].encode())

    def after(self, length: int) -> Json:
        return self._given[length:]

    def with_answer(self, message: JsonObject) -> tuple[int, bytes]:
        text = self._given + str(message.get("content") or "")
        return len(text), _digest(text.encode())


class Opaque:
    """Prompts that nothing is known to go on with: token ids, or several at once."""

    field = "prompt"
    length = 1

    def __init__(self, given: Json) -> None:
        self._given = given

    def beginnings(self, lengths: Iterable[int]) -> Iterator[tuple[int, bytes]]:  # noqa: ARG002  # there are none
        return iter(())

    @property
    def whole(self) -> bytes:
        return digest_of_value(self._given)

    def form_of(self, length: int) -> bytes:
        return self.whole if length else b""

    def after(self, length: int) -> Json:
        return None if length else self._given

    def with_answer(self, message: JsonObject) -> tuple[int, bytes]:
        return self.length + 1, _digest(self.whole + meaning_of(message))


def prompt_of(given: Json) -> Said:
    """A prompt as a chain. Raises Refused for what is none."""
    if isinstance(given, str):
        return Prompt(given)
    if not isinstance(given, list) or not given:
        expected = "a text, an array of token ids, or several of either"
        raise Refused(400, f"`prompt` is missing or empty; expected {expected}", param="prompt")
    return Opaque(given)


def meaning_of(message: JsonObject) -> bytes:
    """What of a message decides whether it is the same: who says what, and which tools are asked for with what."""
    content = message.get("content")
    if len(message) == _PLAIN and isinstance(content, str):  # as nearly all are; the same bytes in half the time
        return orjson.dumps([message["role"], content, [], None])
    calls = message.get("tool_calls")
    called = [_called(call) for call in calls] if isinstance(calls, list) else []
    if isinstance(message.get("function_call"), dict):
        called.append(_called({"function": message["function_call"]}))
    said = [message.get("role"), _content(content), called, message.get("tool_call_id")]
    return orjson.dumps(said, option=orjson.OPT_SORT_KEYS)


def _content(content: Json) -> Json:
    """A list of texts is their text; none at all is an empty one."""
    if content is None:
        return ""
    if isinstance(content, list) and all(isinstance(part, dict) and part.get("type") == "text" for part in content):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content


def _called(call: Json) -> Json:
    """A tool call, its arguments as the JSON that they are."""
    if not isinstance(call, dict):
        return call
    function = call.get("function")
    if not isinstance(function, dict):
        return call
    arguments = function.get("arguments")
    if isinstance(arguments, str) and arguments.count("[") + arguments.count("{") <= _MOST_BRACKETS:
        with suppress(orjson.JSONDecodeError):
            arguments = orjson.loads(arguments or "{}")
    return [call.get("id") or "", function.get("name"), arguments]


def digest_of_value(value: Json) -> bytes:
    """Of a value as it was sent."""
    return _digest(orjson.dumps(value))


def _digest(content: bytes) -> bytes:
    return sha256(content).digest()


def _chain() -> Chain:
    return sha256()
