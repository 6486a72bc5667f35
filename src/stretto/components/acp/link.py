"""How one server is asked, whatever it is asked over."""

import os
from typing import Final, Protocol, TypeVar

from stretto.acp.messages import Envelope, Message
from stretto.acp.names import Verb
from stretto.components.acp.settings import AcpSettings
from stretto.components.acp.target import Target
from stretto.components.spellings import spellings
from stretto.components.web.failures import Peer
from stretto.types.errors import Code, ComponentError

T = TypeVar("T", str, bytes)

_LEAST_CHARS: Final = 8
"""Of a token that is blotted out; the characters of a shorter one may well be something else."""

_REMEDY: Final = "let it answer less, or raise max_response_bytes"


class Link(Protocol):
    """Connections to one server, in one event loop at a time."""

    takes_text: bool
    """Values go as JSON text, which keeps integers whole and is faster; else as JSON objects."""

    async def ask(self, verb: Verb, request: Message, envelope: Envelope | None = None) -> tuple[Message, float]:
        """The answer to one request, and how many milliseconds it waited for a connection; cancelling drops it.

        The envelope is the request's own, if it has one.

        Raises AcpError where the peer failed or refused, ComponentError where the connection did not bring an answer.
        """
        ...

    def open(self) -> None:
        """Make ready to connect; nothing is sent. Every `open` needs its `close`."""
        ...

    async def close(self) -> None:
        """Drop the connections with the last user."""
        ...


def link_to(settings: AcpSettings, target: Target) -> Link:
    """Over what the address says. Raises MissingExtraError where that needs a package that is not installed."""
    if target.is_grpc:
        from stretto.components.acp.grpc_link import GrpcLink, need_grpc

        need_grpc(settings.name)
        return GrpcLink(settings, target)
    from stretto.components.acp.http_link import HttpLink

    return HttpLink(settings, target)


def peer_of(settings: AcpSettings, target: Target) -> Peer:
    """The server, as errors call it."""
    of = f" of component '{settings.name}'" if settings.name else ""
    return Peer(
        who=f"the server{of} at {target.place}",
        limit_remedy=_REMEDY,
        limit_code=Code.DATA_LOSS,  # it was worked on: a write may have happened, and a retry would be as long
    )


def blotted(told: T, token: str) -> T:
    """What a peer told with the token blotted out of it, at the same length: some quote what they refuse, and answers
    are recorded. However it is spelled: in JSON, slashes may be escaped."""
    if len(token) < _LEAST_CHARS:
        return told
    for spelling in spellings(token):
        if isinstance(told, bytes):
            told = told.replace(spelling.encode(), b"*" * len(spelling))
        else:
            told = told.replace(spelling, "*" * len(spelling))
    return told


def token_of(settings: AcpSettings) -> str:
    """The token, empty where none is declared. Raises ComponentError, with `sent` false, where it is not set."""
    if not settings.token_env:
        return ""
    token = os.environ.get(settings.token_env, "").strip()
    if token and token.isascii() and token.isprintable():
        return token
    why = "holds a character that no header may hold" if token else "is not set; set it"
    who = f"component '{settings.name}' takes its" if settings.name else "the server takes a"
    text = f"{who} token from ${settings.token_env}, which {why}"
    raise ComponentError(text, Code.UNAUTHENTICATED, sent=False)
