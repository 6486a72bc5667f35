"""Takes the address of a server apart; what no client could connect to is refused where it is declared."""

import re
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from stretto.types.errors import UsageError


def split_address(url: str, what: str) -> SplitResult:
    """The parts of an address. Raises UsageError where its host or its port cannot be one."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises for a port that is no number, or beyond 65535
    except ValueError as error:
        raise UsageError(f"{what} is '{_shown(url)}', which is no address: {error}") from error
    if any(mark.isspace() or not mark.isprintable() for mark in parts.netloc):
        raise UsageError(f"{what} is '{_shown(url)}', which is no address: there is a space in its host")
    return parts


def is_host(text: str) -> bool:
    """Whether every client takes it for the same host: none with an escape, a backslash, which some read as /, or
    what stands for something else, as in a file that was to be filled in."""
    return ":" in text or not any(mark in text for mark in "%\\${}<>*")


def is_here(host: str) -> bool:
    """Whether a host is this machine, by an address or a name that never leads elsewhere (RFC 6761, section 6.3)."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _shown(url: str) -> str:
    """The address without a name and password that may stand in it: errors are logged."""
    return re.sub(r"//[^/]*@", "//...@", url)
