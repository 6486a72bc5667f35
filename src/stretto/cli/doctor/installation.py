"""The installation: Python, this release, and which extras are there."""

import platform
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Final

from stretto import __version__
from stretto.cli.doctor.findings import Finding, State
from stretto.types.extras import install_command

OLDEST_PYTHON: Final = (3, 11)
NEWEST_PYTHON: Final = (3, 13)
"""As pyproject.toml declares them; a test holds the two together."""

_REQUIREMENT: Final = re.compile(r"^([A-Za-z0-9._-]+)(?:\[([^]]*)\])?.*?;\s*extra == ['\"]([^'\"]+)['\"]")
"""A requirement of an extra, as package metadata write it: name, its own extras, which extra."""

USED: Final = (
    "mcp",
    "rules",
    "serve",
    "probes",
    "semantics",
    "examples",
    "grpc",
    "exec",
    "xml",
    "torch",
    "transformers",
    "qdrant",
    "minilm",
    "curves",
)
"""Extras that something here needs, as MissingExtraError or a hint names them (a test compares). The others hold their
names and versions for what comes later; to install one today would be for nothing."""


def examine_installation() -> Iterator[Finding]:
    """Python, stretto, and each extra that something here needs, with the command that installs it."""
    yield _python()
    yield Finding(name="stretto", state=State.WELL, text=__version__)
    brought = _extras()
    for extra in USED:
        packages = brought.get(extra, [])
        missing = [package for package in packages if not _installed(package)]
        if missing:
            yield Finding(
                name=f"extra {extra}",
                state=State.NOTE,
                text=f"not installed: {', '.join(missing)}",
                remedy=install_command(extra),
            )
        else:
            found = ", ".join(f"{package} {version(package)}" for package in packages)
            yield Finding(name=f"extra {extra}", state=State.WELL, text=found)


def _python() -> Finding:
    found = f"{platform.python_version()} ({sys.executable})"
    if OLDEST_PYTHON <= sys.version_info[:2] <= NEWEST_PYTHON:
        return Finding(name="python", state=State.WELL, text=found)
    oldest, newest = (".".join(map(str, each)) for each in (OLDEST_PYTHON, NEWEST_PYTHON))
    return Finding(
        name="python", state=State.WRONG, text=found, remedy=f"use Python {oldest} to {newest}, for which it is tested"
    )


def _extras() -> dict[str, list[str]]:
    """Extra → the packages it brings, those of the extras inside it included."""
    own: dict[str, list[str]] = {}
    inner: dict[str, list[str]] = {}
    for requirement in requires("stretto") or ():
        found = _REQUIREMENT.match(requirement)
        if found is None:
            continue
        name, nested, extra = found.groups()
        if name == "stretto":
            inner.setdefault(extra, []).extend(part.strip() for part in nested.split(","))
        else:
            own.setdefault(extra, []).append(name)
    names = dict.fromkeys([*own, *inner])
    return {name: [p for part in (name, *inner.get(name, ())) for p in own.get(part, ())] for name in names}


def _installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True
