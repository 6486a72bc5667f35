"""``HOST:PORT`` as people write it."""

from typing import Final

from stretto.types.errors import UsageError

LOOPBACK: Final = "127.0.0.1"
"""Where nobody names a host: only this machine reaches it."""

_MAX_PORT: Final = 65535


def read_place(option: str, text: str) -> tuple[str, int]:
    """Host and port of ``HOST:PORT``, ``:PORT``, ``PORT`` or ``[::1]:PORT``; port 0 takes a free one."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (port.isascii() and port.isdigit()) or int(port) > _MAX_PORT:
        raise UsageError(f"{option} is {text!r}; expected HOST:PORT, such as {LOOPBACK}:8081, or :8081")
    return host or LOOPBACK, int(port)
