"""What can go wrong between a step and a service, in words and as google.rpc codes."""

import time
from typing import Final
from urllib.parse import urlsplit

from stretto.components.http.secrets import Secrets
from stretto.components.http.soap import FAULT_CODES
from stretto.components.web.failures import MAX_QUOTED_CHARS, Peer, one_line, said_by, start_of
from stretto.components.web.reply import Reply
from stretto.components.web.retry_after import retry_after_s
from stretto.types.errors import Code, ComponentError
from stretto.types.http_status import code_of
from stretto.types.json import Json, JsonObject

_SAYING: Final = ("detail", "message", "error_description", "error", "title", "description", "reason")
"""Where services put their words: RFC 9457 has `detail` and `title`, RFC 6749 `error_description`; the others are
habit. The first that holds text, or an object that does, counts."""

MAX_SAYING_DEPTH: Final = 3
"""Objects around the words: ``{error: {error: {message: ...}}}`` is the deepest met."""

SAME_AGAIN: Final = frozenset({307, 308})
"""Redirections that ask for the same request elsewhere: here nothing was done (RFC 9110, section 15.4)."""


def peer_of(name: str, url: str) -> Peer:
    """Whom a call of a component asks. An answer that is too long has been given: what it tells has happened."""
    parts = urlsplit(url)
    return Peer(
        who=f"the service of component '{name}' at {parts.scheme}://{parts.netloc}",
        limit_remedy="raise max_response_bytes",
        limit_code=Code.DATA_LOSS,
    )


def refusal(peer: Peer, reply: Reply, body: Json, secrets: Secrets) -> ComponentError:
    """The error of a status that is no answer: the service's own words, and what to do where it is known."""
    said = said_in(body) or said_by(secrets.out_of_bytes(reply.body))
    text = f"{peer.who} answered {reply.status}: {said or 'nothing'}{_remedy(reply)}"
    return ComponentError(
        secrets.out_of(text),
        _code(reply.status),
        retry_after_s=retry_after_s(reply.headers, time.time()),
        retryable=False if reply.status < 400 else None,
    )


def fault_error(peer: Peer, reply: Reply, fault: JsonObject, secrets: Secrets) -> ComponentError:
    """The error of a SOAP fault, whatever the status says."""
    code = str(fault["code"])
    name = ".".join(str(part) for part in (code, fault["subcode"]) if part)
    text = f"{peer.who} answered with the fault {name or 'without a code'}: {fault['reason'] or 'nothing'}"
    return ComponentError(
        secrets.out_of(text),
        FAULT_CODES.get(code) or (_code(reply.status) if reply.status >= 400 else Code.UNKNOWN),
        retry_after_s=retry_after_s(reply.headers, time.time()),
    )


def unreadable(peer: Peer, reply: Reply, why: str, secrets: Secrets) -> ComponentError:
    """The error of an answer that is not what was declared. It was given: what was asked for may have been done."""
    content_type = reply.headers.get("Content-Type", "no content type").partition(";")[0]
    text = (
        f"the body that {peer.who} answered is not as declared: {why}: "
        f"{len(reply.body):,} bytes of {content_type} that begin with {start_of(secrets.out_of_bytes(reply.body))!r}"
    )
    return ComponentError(secrets.out_of(text), Code.INTERNAL)


def said_in(body: Json, depth: int = MAX_SAYING_DEPTH) -> str:
    """What a JSON body says in words; empty when it is known to say nothing."""
    if isinstance(body, str):
        return one_line(body)[:MAX_QUOTED_CHARS]
    if not isinstance(body, dict) or not depth:
        return ""
    for key in _SAYING:
        found = body.get(key)
        said = said_in(found, depth - 1) if isinstance(found, str | dict) else ""
        if said:
            return said
    return ""


def _code(status: int) -> Code:
    """What is no failure by its status may have been done, also where it is no answer here: only 307 and 308 tell."""
    if status < 400:
        return Code.FAILED_PRECONDITION if status in SAME_AGAIN else Code.UNKNOWN
    return code_of(status)


def _remedy(reply: Reply) -> str:
    status = reply.status
    if 200 <= status < 300 or status == 304:
        return "; where that is an answer, say so in `response.statuses`"
    if 300 <= status < 400:
        return f"; it leads to {reply.headers.get('Location', 'nowhere')}: set `url` to where that is"
    if status == 401:
        return "; what proves who asks stands in `auth`"
    if status == 405:
        return "; is `method` right?"
    return ""
