"""JSON: one object goes in, one comes out."""

import json

import msgspec

from stretto.components.exec.codecs import UnreadableError, shown
from stretto.components.exec.message import Message
from stretto.components.exec.texts import text_of
from stretto.record.canonical import snapshot
from stretto.types.card import ANY_OBJECT
from stretto.types.json import JsonObject


class JsonEncoder:
    """Writes the request on one line."""

    def __init__(self, message: Message) -> None:
        self.schema = message.schema or ANY_OBJECT
        self._encoding = message.encoding

    def encode(self, request: JsonObject) -> bytes:
        data = snapshot(request) + b"\n"
        if not self._encoding:
            return data
        try:
            return data.decode().encode(self._encoding)
        except UnicodeEncodeError:  # a character that it lacks, and JSON writes in ASCII
            text = json.dumps(msgspec.json.decode(data), ensure_ascii=True, separators=(",", ":"))
            return f"{text}\n".encode(self._encoding)


class JsonDecoder:
    """Reads an object."""

    def __init__(self, message: Message) -> None:
        self.schema = message.schema or ANY_OBJECT
        self._encoding = message.encoding or "utf-8"

    def decode(self, data: bytes) -> JsonObject:
        text = text_of(data, self._encoding)
        if not text.strip():
            raise UnreadableError("nothing; expected a JSON object")
        try:
            value = msgspec.json.decode(text)  # keeps the digits of a long integer, which the record refuses by name
        except (msgspec.DecodeError, RecursionError) as error:
            raise UnreadableError(f"{error}: {shown(text.strip())}; expected a JSON object") from error
        if not isinstance(value, dict):
            raise UnreadableError(f"{shown(text.strip())}; expected a JSON object: {{...}}")
        return value
