"""Who executes a run: a name for this store in this process, and whether another one is surely gone."""

import os
import secrets
import socket
from pathlib import Path
from typing import Final

LEASE_S: Final = 30.0
"""How long an executing process may be silent before another may take over its runs."""

HEARTBEAT_S: Final = LEASE_S / 3
"""Two heartbeats may be late before the lease ends."""

OWNER_PARTS: Final = 5
"""Of an owner, without the name that a claim may add."""

_START_TIME_FIELD: Final = 22
"""Of /proc/PID/stat, counted from 1 (proc(5)): with it a process id that was given out again is told apart."""


def new_owner() -> str:
    """``host/kernel/pid/start/nonce``: unique to one store object in one process."""
    pid = os.getpid()
    host = (socket.gethostname() or "localhost").replace("/", "-")
    return "/".join((host, _kernel(), str(pid), _start_time(pid), secrets.token_hex(4)))


def named(owner: str, name: str) -> str:
    """The owner, with a name for people behind it."""
    return f"{owner}/{name.replace('/', '-')}" if name else owner


def described(owner: str) -> str:
    """An owner as people are told of it."""
    parts = owner.split("/")
    if len(parts) < OWNER_PARTS:
        return repr(owner)
    name = f" ('{parts[OWNER_PARTS]}')" if len(parts) > OWNER_PARTS else ""
    return f"process {parts[2]} on {parts[0]}{name}"


def surely_gone(owner: str) -> bool:
    """Whether the owner's process ran under this very kernel and process namespace, and has ended.

    Where that cannot be told (another machine, no /proc) the answer is no, and the lease decides.
    """
    parts = owner.split("/")
    if len(parts) < OWNER_PARTS or not parts[1] or parts[1] != _kernel():
        return False
    pid, started = parts[2], parts[3]
    return not pid.isdigit() or not started or _start_time(int(pid)) != started


def _kernel() -> str:
    """Identity of the running kernel and process namespace; empty where the system does not tell."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}-{Path('/proc/self/ns/pid').readlink().name.strip('pid:[]')}"
    except OSError:
        return ""


def _start_time(pid: int) -> str:
    """When the process started, in clock ticks since boot; empty when there is none or the system does not tell."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[_START_TIME_FIELD - 3]
