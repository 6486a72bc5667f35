"""Which servers a workflow file may send requests to.

A file that somebody else wrote must not make this process call whatever it can reach, such as the address at which a
cloud hands out credentials. So the file names servers, and the environment says which of them may be called.
"""

import os
import re
from fnmatch import fnmatchcase
from typing import Final

from stretto.components.acp.target import Target
from stretto.components.web_address import is_here
from stretto.types.errors import UsageError

VARIABLE: Final = "STRETTO_ACP_ALLOW"
"""``host``, ``host:port`` or ``[address]:port``, separated by commas; ``*`` stands for anything in a part. Without it
only this machine's own addresses may be called. Names are compared, not what they stand for."""

_ADDRESSES: Final = re.compile(r"[0-9][0-9.*?]*")
"""How an entry that means IPv4 addresses looks."""

_ADDRESS: Final = re.compile(r"[0-9]+(?:\.[0-9]+){3}")


def check_allowed(target: Target, what: str) -> None:
    """Raises UsageError for a server that may not be called."""
    listed = os.environ.get(VARIABLE)
    allowed = is_here(target.host) if listed is None else any(_fits(target, entry) for entry in _entries(listed))
    if not allowed:
        beside = f": allowed are {listed}" if listed else f": without {VARIABLE} only this machine may be"
        grown = f"{listed},{target.place}" if listed else target.place
        raise UsageError(f"{what} is at {target.place}, which may not be called{beside}; set {VARIABLE}={grown}")


def _entries(listed: str) -> list[str]:
    return [entry.strip().lower() for entry in listed.split(",") if entry.strip()]


def _fits(target: Target, entry: str) -> bool:
    """An entry without a port allows every port."""
    host, port = target.host.lower(), str(target.port)
    if entry.startswith("["):
        address, _, rest = entry[1:].partition("]")
        return fnmatchcase(host, address) and (not rest or fnmatchcase(port, rest.removeprefix(":")))
    if entry.count(":") > 1:  # an IPv6 address by itself
        return fnmatchcase(host, entry)
    name, colon, of_port = entry.partition(":")
    if _ADDRESSES.fullmatch(name) and not _ADDRESS.fullmatch(host):
        return False  # 10.0.0.* is no 10.0.0.7.evil.example
    return fnmatchcase(host, name) and (not colon or fnmatchcase(port, of_port))
