"""One request and its reply. Redirections are followed for what only reads, and never to another host."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

import msgspec

from stretto.components.waiting import Wait
from stretto.components.web.failures import Peer
from stretto.components.web.reply import Reply

if TYPE_CHECKING:
    from stretto.components.web.pool import Pool

MAX_REDIRECTS: Final = 5
"""RFC 9110, section 15.4, names no number; RFC 2068 named five, and more is a loop."""

_REDIRECTIONS: Final = frozenset({301, 302, 303, 307, 308})
_ODD: Final = re.compile(r"[^\x21-\x7e]")


class Outgoing(msgspec.Struct, frozen=True, kw_only=True):
    """A request as it is sent."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None
    follows: bool
    """Whether a redirection is followed: a write is sent to one place, once."""


async def exchange(pool: "Pool", peer: Peer, outgoing: Outgoing, waited: Wait) -> Reply:
    """Send it, follow what may be followed, and give the last reply; `waited` is told how long each waited for its
    connection. Raises ComponentError as `Pool.send` does."""
    from yarl import URL

    url = outgoing.url
    for redirects_left in range(MAX_REDIRECTS, -1, -1):
        address = URL(url, encoded=True)  # as it stands: what was encoded stays so, and no dot is resolved
        reply = await pool.send(peer, outgoing.method, address, outgoing.headers, outgoing.body)
        waited.ms += reply.queue_ms
        target = _target(reply, url) if outgoing.follows else ""
        if not target or not redirects_left:
            break
        url = target
    return _readable(reply)


def _readable(reply: Reply) -> Reply:
    """The same reply; a header that is no UTF-8 is read as ISO-8859-1, which it may be by RFC 9110, section 5.5."""
    from multidict import CIMultiDict

    if all(text.isascii() for text in reply.headers.values()):
        return reply
    headers = CIMultiDict((name, _latin_1(text)) for name, text in reply.headers.items())
    return msgspec.structs.replace(reply, headers=headers)


def _latin_1(text: str) -> str:
    """What aiohttp could not read stands in its text as PEP 383 has it."""
    written = text.encode(errors="surrogateescape")
    try:
        return written.decode()
    except UnicodeDecodeError:
        return written.decode("latin-1")


def led_to(url: str, text: str) -> str:
    """Where an address that a service gave leads from another one, without its fragment; empty for what is not asked as
    it stands: with spaces, what is not ASCII, a user and a password, or a host that clients do not agree on."""
    if _ODD.search(text):
        return ""
    try:
        target = urljoin(url, text).partition("#")[0]
        authority = urlsplit(target).netloc
    except ValueError:
        return ""
    return "" if "@" in authority or "\\" in authority else target


def origin_of(url: str) -> str:
    """Scheme, host and port, the port also where it is the scheme's own; empty for what is no address."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.hostname}:{port}" if parts.hostname and port else ""


def _target(reply: Reply, url: str) -> str:
    """Where a reply leads, on the same host; empty when nowhere that is followed."""
    location = reply.headers.get("Location", "") if reply.status in _REDIRECTIONS else ""
    target = led_to(url, location) if location else ""
    return target if target and origin_of(target) == origin_of(url) else ""
