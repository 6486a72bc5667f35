"""What can go wrong between a step and a server, whatever they speak of."""

import re
from typing import Final

import msgspec

from stretto.types.errors import Code, ComponentError

MAX_QUOTED_CHARS: Final = 500
"""Of what a server says: enough for its sentence, too little for a page of HTML."""

MAX_START_CHARS: Final = 80
"""Of a body that cannot be read: enough to know what it is."""

NO_HTTP: Final = "answered what is no HTTP"
"""What is said of a server that speaks another protocol."""


class Peer(msgspec.Struct, frozen=True, kw_only=True):
    """Who is asked, as errors call it."""

    who: str
    """``the server of model 'llm' at http://127.0.0.1:8000``."""
    limit_remedy: str
    """What to do when its answer is longer than may be read."""
    limit_code: Code
    """What that means: whether something happened nevertheless."""


def unreachable(peer: Peer, why: str, *, retryable: bool | None = None) -> ComponentError:
    """The error of a request that surely never left."""
    text = f"{peer.who} cannot be reached: {why}"
    return ComponentError(text, Code.UNAVAILABLE, retryable=retryable, sent=False)


def untrusted(peer: Peer, why: str) -> ComponentError:
    """The error of a server that did not prove who it is, to which nothing was sent."""
    return unreachable(peer, f"its certificate is not trusted: {why}", retryable=False)


def lost(peer: Peer, why: str) -> ComponentError:
    """The error of an answer that can no longer come."""
    text = f"the connection to {peer.who} was lost before its answer was whole: {why}"
    return ComponentError(text, Code.UNAVAILABLE)


def too_large(peer: Peer, limit: int) -> ComponentError:
    """The error of an answer that was not read to its end."""
    return ComponentError(
        f"{peer.who} answered more than {limit:,} bytes, the limit; {peer.limit_remedy}", peer.limit_code
    )


def no_http(peer: Peer, why: str) -> ComponentError:
    """The error of an answer in another protocol."""
    return ComponentError(f"{peer.who} {NO_HTTP}: {why}", Code.INTERNAL)


def start_of(body: bytes) -> str:
    """How a body that cannot be read begins."""
    return one_line(body[: MAX_QUOTED_CHARS * 4].decode(errors="replace"))[:MAX_START_CHARS]


def said_by(body: bytes) -> str:
    """What a body that is no success says, in one line."""
    return one_line(body[: MAX_QUOTED_CHARS * 4].decode(errors="replace"))[:MAX_QUOTED_CHARS]


def one_line(text: str) -> str:
    """The text without line breaks, and without its tags when it is HTML or XML."""
    without_tags = re.sub(r"<[^<>]*>", " ", text) if text.lstrip()[:1] == "<" else text
    return " ".join(without_tags.split())
