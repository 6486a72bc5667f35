"""What came back, whatever it came over."""

from typing import Protocol

import msgspec

from stretto.acp.failure import Failure
from stretto.acp.kit.case import Exchange
from stretto.acp.messages import Message
from stretto.acp.names import Verb
from stretto.types.json import JsonObject


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """One answer, read as far as it can be."""

    sent: str
    """What was sent, for people."""
    got: str
    """What came back, for people; at most a few hundred characters."""
    took_ms: float
    response: Message | None = None
    """None where it is no response."""
    failure: Failure | None = None
    status: int = 0
    """Of HTTP."""
    body: bytes = b""
    hung_up: bool = False
    """The server ended the connection without an answer, where a case gave it reason to."""
    complaints: tuple[str, ...] = ()
    """Where it breaks the form itself: no answer at all, a body that cannot be read, a status that is not of its
    code."""


class Wire(Protocol):
    """Sends to one server."""

    form: str
    """``http`` or ``grpc``."""

    async def send(self, verb: Verb, request: JsonObject, exchange: Exchange) -> Seen:
        """One exchange. A server that does not answer is seen, never raised."""
        ...

    async def close(self) -> None:
        """Drop the connections."""
        ...


MAX_SHOWN_CHARS = 400
"""Of what was sent and got: enough to see what is wrong."""


def shown(body: bytes) -> str:
    """The beginning of a body, in one line."""
    text = " ".join(body.decode(errors="backslashreplace").split())
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}... ({len(body):,} bytes)"
