"""What can go wrong between a step and a server, in words and as google.rpc codes."""

import time
from typing import Any, Final

import msgspec
import orjson

from stretto.components.openai.address import Address
from stretto.components.web.failures import MAX_QUOTED_CHARS, Peer, one_line, start_of
from stretto.components.web.reply import Reply
from stretto.components.web.retry_after import retry_after_s
from stretto.types.errors import Code, ComponentError
from stretto.types.http_status import code_of

SPENT: Final = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
"""OpenAI's error codes for an account without money: status 429, and waiting does not help."""

BROKEN_OFF: Final = frozenset({"abort", "error"})
"""Finish reasons of vLLM, SGLang and OpenRouter for a completion that something else ended: no word of the model's."""


def peer_of(name: str, address: Address) -> Peer:
    """Whom a call of a model asks."""
    return Peer(
        who=f"the server of model '{name}' at {address.origin}",
        limit_remedy="lower max_tokens or raise max_response_bytes",
        limit_code=Code.OUT_OF_RANGE,
    )


def refusal(name: str, address: Address, reply: Reply) -> ComponentError:
    """The error of a reply that is no success: the server's own words, and what to do where it is known."""
    words, code = said(reply.body)
    remedy = _remedy(address, reply, words)
    text = f"the server of model '{name}' at {address.origin} answered {reply.status}: {words or 'nothing'}{remedy}"
    return ComponentError(
        address.without_key(text),
        code_of(reply.status),
        retry_after_s=retry_after_s(reply.headers, time.time()),
        retryable=_retryable(reply.status, code),
    )


def error_inside(name: str, address: Address, reply: Reply) -> ComponentError | None:
    """The error of a reply that calls itself a success and holds an error in place of a completion, as gateways send
    it; None when it does not."""
    body = _object(reply.body)
    error = body.get("error")
    if not error or "choices" in body:
        return None
    status = error.get("code") if isinstance(error, dict) else None
    known = isinstance(status, int) and 400 <= status < 600
    return refusal(name, address, msgspec.structs.replace(reply, status=status if known else 500))


def broken_off(name: str, address: Address, reason: str) -> ComponentError:
    """The error of a completion that the server itself gave up."""
    text = f"the server of model '{name}' at {address.origin} broke the completion off: its finish reason is '{reason}'"
    return ComponentError(text, Code.ABORTED)


def unreadable(name: str, address: Address, reply: Reply, why: str) -> ComponentError:
    """The error of a success that holds no chat completion."""
    content_type = reply.headers.get("Content-Type", "no content type").partition(";")[0]
    hint = "; is base_url right? It ends in /v1 as a rule" if "html" in content_type else ""
    text = (
        f"the server of model '{name}' at {address.origin} answered what is no chat completion ({why}): "
        f"{len(reply.body):,} bytes of {content_type} that begin with {start_of(reply.body)!r}{hint}"
    )
    return ComponentError(address.without_key(text), Code.INTERNAL)


def _retryable(status: int, code: str) -> bool | None:
    """Whether the same request may succeed later; None is what the code says.

    A plain 500 is worth an attempt: asking a model is harmless, and OpenAI's guide to error codes advises it.
    """
    if code in SPENT:
        return False
    return True if status == 500 else None


def _remedy(address: Address, reply: Reply, words: str) -> str:
    status = reply.status
    if 300 <= status < 400:
        return f"; it leads to {reply.headers.get('Location', 'nowhere')}: set base_url to where that is"
    if status == 401 and not address.key:
        return "; no key was sent: name the environment variable that holds it in api_key_env"
    if status in (404, 405) and "model" not in words:
        return "; is base_url right? It ends in /v1 as a rule"
    return ""


def said(body: bytes) -> tuple[str, str]:
    """The server's message in one line, and its own code for it.

    The forms met: ``{error: {message, type, code}}`` (OpenAI, vLLM, llama.cpp), ``{error: text}`` (Ollama, TGI, and
    vLLM for a wrong key), ``{message, type, code}`` (SGLang, Mistral), ``{detail: ...}`` (FastAPI), and proxies' pages.
    """
    read = _object(body)
    error = read.get("error", read)
    if isinstance(error, dict):
        message = error.get("message") or error.get("detail") or ""
        kind, code = error.get("type"), error.get("code")
    else:
        message, kind, code = error, None, None
    if not read or not message:
        message = body[: MAX_QUOTED_CHARS * 4].decode(errors="replace")
    text = message if isinstance(message, str) else orjson.dumps(message).decode()
    named = f" ({kind})" if isinstance(kind, str) else ""
    return one_line(text)[:MAX_QUOTED_CHARS] + named, code if isinstance(code, str) else ""


def _object(body: bytes) -> dict[str, Any]:  # outside bytes: every use looks before it takes
    try:
        read = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return read if isinstance(read, dict) else {}
