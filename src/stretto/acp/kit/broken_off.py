"""A request over HTTP that ends, or stops, before its end, byte for byte; and whatever is said to it."""

import asyncio
import ssl
from typing import Final

from yarl import URL

from stretto.acp.kit.case import Http

MAX_BODY_BYTES: Final = 16 * 1024 * 1024
"""Of an answer that is read; twice what a step's output may have."""

Said = tuple[int, dict[str, str], bytes]
"""Status, headers in lower case, body."""

NOTHING: Final[Said] = (0, {}, b"")
"""The server ended the connection without a word."""


async def broken_off(
    url: str, http: Http, headers: dict[str, str], body: bytes, trusted: ssl.SSLContext | None
) -> Said:
    """Send what the case says of the request, and read what comes. Raises ValueError for what is no HTTP, OSError where
    there is no connection."""
    at = URL(url)
    secure = None if at.scheme == "http" else trusted or True
    reader, writer = await asyncio.open_connection(at.host, at.port, ssl=secure)
    lines = [f"POST {at.raw_path} HTTP/1.1", f"Host: {at.authority}", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {text}" for name, text in headers.items()]
    try:
        writer.write("\r\n".join([*lines, "", ""]).encode() + (body if http.gone else body[: len(body) // 2]))
        await writer.drain()
        if http.gone:
            return NOTHING
        if http.cut and writer.can_write_eof():  # TLS has no half of a connection to close
            writer.write_eof()
        elif http.cut:
            return NOTHING
        return await _answer(reader)
    except (asyncio.IncompleteReadError, ConnectionError):
        return NOTHING
    except asyncio.LimitOverrunError as error:
        raise ValueError(f"what is no HTTP, or has more than 64 KiB before its body: {error}") from error
    finally:
        writer.close()


async def _answer(reader: asyncio.StreamReader) -> Said:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *rest = head.decode("latin-1").split("\r\n")
    version, _, after = first.partition(" ")
    if not version.startswith("HTTP/") or not after[:3].isdigit():
        raise ValueError(f"what is no HTTP; it begins with {first[:80]!r}")
    status = int(after[:3])
    if status < 200:  # 100 Continue, 103 Early Hints: the answer comes behind it
        return await _answer(reader)
    headers = {name.strip().lower(): text.strip() for name, _, text in (line.partition(":") for line in rest)}
    return status, headers, await _body(reader, headers)


async def _body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return await _chunks(reader)
    length = headers.get("content-length")
    if length is None:
        return await reader.read(MAX_BODY_BYTES)  # to its end, which is that of the connection
    return await reader.readexactly(_held(int(length)))


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        body += await reader.readexactly(_held(size, len(body)))
        await reader.readuntil(b"\r\n")
    return body


def _held(size: int, before: int = 0) -> int:
    if not 0 <= size <= MAX_BODY_BYTES - before:
        raise ValueError(f"{size:,} bytes; expected at most {MAX_BODY_BYTES:,}")
    return size
