"""Sends cases over HTTP, byte for byte where a case says so."""

import asyncio
import math
import ssl
import time
from collections.abc import Iterator
from io import BytesIO
from typing import Final

import aiohttp
import msgspec
import orjson

from stretto.acp import json_form, messages as m
from stretto.acp.kit.broken_off import MAX_BODY_BYTES, broken_off
from stretto.acp.kit.case import Exchange, Http
from stretto.acp.kit.seen import Seen, shown
from stretto.acp.names import DOMAIN, Verb
from stretto.acp.problem import MEDIA_TYPE, failure_of_reply
from stretto.types.errors import Code
from stretto.types.http_status import STATUSES
from stretto.types.json import JsonObject

PATIENCE_S: Final = 20.0
"""A server that has not answered by then hangs."""

_TRACES: Final = (b"Traceback (most recent call last)", b"\n\tat ", b"goroutine ", b"    at ", b"panicked at")
"""How stacks of Python, Java, Go, Node and Rust look: nothing of the inside belongs on the wire."""


class HttpWire:
    """One server over HTTP."""

    form = "http"

    def __init__(self, base: str, headers: dict[str, str], trusted: ssl.SSLContext | None = None) -> None:
        """`trusted` says whose certificates are believed in place of the system's."""
        self._base = base
        self._headers = headers
        self._trusted = trusted
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=trusted or True),
            timeout=aiohttp.ClientTimeout(total=PATIENCE_S),
            trust_env=False,
        )

    async def close(self) -> None:
        """Drop the connections."""
        await self._session.close()

    async def send(self, verb: Verb, request: JsonObject, exchange: Exchange) -> Seen:
        """As `Wire.send`."""
        http = exchange.http or Http()
        body = b" " * http.pad_bytes + _body(request, exchange, http)
        path = http.path or verb.path
        sent = f"{http.method} {path} {shown(body)}"
        began = time.perf_counter()
        try:
            if http.cut or http.stall or http.gone:
                told = {**self._headers, "Content-Type": "application/json"}
                sending = broken_off(self._base + path, http, told, body, self._trusted)
                status, headers, got = await asyncio.wait_for(sending, PATIENCE_S)
            else:
                status, headers, got = await self._whole(path, http, body)
        except TimeoutError:
            return _nothing(sent, began, f"no answer within {PATIENCE_S:g} s")
        except (aiohttp.ClientError, OSError) as error:
            if http.pad_bytes:  # refused before it was read to its end, which may reset the connection
                return _hung_up(sent, began)
            why = str(error) or type(error).__name__
            return _nothing(sent, began, f"the connection broke: {why}; expected an answer, or a refusal in words")
        except ValueError as error:
            return _nothing(sent, began, f"it answered {error}")
        if status == 0:
            return _hung_up(sent, began)
        took_ms = (time.perf_counter() - began) * 1000.0
        seen = Seen(sent=sent, got=f"{status} {shown(got)}", took_ms=took_ms, status=status, body=got)
        return seen if http.path and not http.path.startswith("/acp/v1/") else _read(seen, verb, headers)

    async def _whole(self, path: str, http: Http, body: bytes) -> tuple[int, dict[str, str], bytes]:
        headers = {**self._headers, **http.headers}
        if http.content_type is not None:
            headers["Content-Type"] = http.content_type
        skipped = () if http.content_type else ("Content-Type",)
        has_body = http.method not in ("GET", "HEAD")
        async with self._session.request(
            http.method,
            self._base + path,
            data=BytesIO(body) if has_body else None,
            headers=headers,
            skip_auto_headers=skipped,
            allow_redirects=False,
        ) as response:
            body = b""
            async for chunk in response.content.iter_any():
                body += chunk
                if len(body) > MAX_BODY_BYTES:
                    raise ValueError(f"more than {MAX_BODY_BYTES:,} bytes")
            return response.status, {k.lower(): v for k, v in response.headers.items()}, body


def _body(request: JsonObject, exchange: Exchange, http: Http) -> bytes:
    if exchange.hex is not None:
        return bytes.fromhex(exchange.hex)
    return orjson.dumps(request) if http.body is None else http.body.encode() * http.repeat


def _hung_up(sent: str, began: float) -> Seen:
    took_ms = (time.perf_counter() - began) * 1000.0
    return Seen(sent=sent, got="the connection was ended", took_ms=took_ms, hung_up=True)


def _nothing(sent: str, began: float, why: str) -> Seen:
    took_ms = (time.perf_counter() - began) * 1000.0
    return Seen(sent=sent, got=why, took_ms=took_ms, complaints=(why,))


def _read(seen: Seen, verb: Verb, headers: dict[str, str]) -> Seen:
    """The message, or the failure, and what is wrong with its form."""
    traces = [f"it shows its inside: {mark!r}" for mark in _TRACES if mark in seen.body]
    if seen.status == 200:
        try:
            response = json_form.decode(seen.body, m.RESPONSES[verb])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            complaint = f"status 200, and the body is no {verb.capitalize()}Response: {error}"
            return msgspec.structs.replace(seen, complaints=(*traces, complaint))
        return msgspec.structs.replace(
            seen, response=response, complaints=(*traces, *_of_type(headers, "application/json"))
        )
    failure = failure_of_reply(seen.status, headers, seen.body)
    return msgspec.structs.replace(
        seen, failure=failure, complaints=(*traces, *_of_failure(seen, headers, failure.code))
    )


def _of_failure(seen: Seen, headers: dict[str, str], code: Code) -> tuple[str, ...]:
    try:
        problem = msgspec.json.decode(seen.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return (f"status {seen.status}, and the body is no problem document: {error}",)
    if not isinstance(problem, dict):
        return (f"status {seen.status}, and the body is no problem document, which is an object",)
    return (*_of_members(problem, seen.status, code), *_of_wait(problem, headers), *_of_type(headers, MEDIA_TYPE))


def _of_members(problem: JsonObject, status: int, code: Code) -> Iterator[str]:
    told = problem.get("code")
    if told not in set(Code):
        yield f"`code` is {told!r}; expected a google.rpc code, such as '{code}'"
    elif status != STATUSES[Code(told)]:
        yield f"status {status} for code {told}; expected {STATUSES[Code(told)]}"
    elif problem.get("type") != f"urn:{DOMAIN}:{told}":
        yield f"`type` is {problem.get('type')!r}; expected 'urn:{DOMAIN}:{told}'"
    if problem.get("status") != status:
        yield f"`status` is {problem.get('status')!r}, and the status is {status}"
    if not problem.get("detail"):
        yield "`detail` is empty: nobody learns what was wrong"


def _of_wait(problem: JsonObject, headers: dict[str, str]) -> Iterator[str]:
    """Two places say when to ask again, and whoever reads one of them must learn the same."""
    told_ms, header = problem.get("retryAfterMs"), headers.get("retry-after", "")
    if not isinstance(told_ms, int | float):
        return
    expected = str(max(0, math.ceil(told_ms / 1000)))
    if header != expected:
        yield f"Retry-After is {header!r}, and `retryAfterMs` {told_ms}; expected '{expected}'"


def _of_type(headers: dict[str, str], expected: str) -> tuple[str, ...]:
    told = headers.get("content-type", "").partition(";")[0].strip()
    return () if told == expected else (f"Content-Type is '{told}'; expected {expected}",)
