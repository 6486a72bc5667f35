"""Where a server is and how it is treated, as declared and checked."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import msgspec

from stretto.components.declared import declared
from stretto.components.mcp.session import McpSession
from stretto.components.names import NAME_RULE, is_component_name
from stretto.components.web_address import split_address
from stretto.types.arguments import as_tuple, check_fields
from stretto.types.enums import Effect
from stretto.types.errors import MissingExtraError, UsageError
from stretto.types.ids import Digest, digest_of

DEFAULT_START_TIMEOUT: Final = timedelta(seconds=30)
"""Servers that install themselves on their first start take this long."""

DEFAULT_MAX_MESSAGE_BYTES: Final = 8 * 1024 * 1024
"""As much as one step's output may have."""

_INDIFFERENT: Final = frozenset({"env", "headers", "cwd", "start_timeout", "description"})


class McpSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything declared about a server."""

    name: str
    version: str = "0.0.0"
    description: str = ""
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = msgspec.field(default_factory=dict)
    cwd: Path | None = None
    processes: int = 1
    url: str = ""
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    tools: tuple[str, ...] | None = None
    effects: Mapping[str, Effect] = msgspec.field(default_factory=dict)
    idempotent: bool = False
    concurrency: int | None = None
    start_timeout: timedelta = DEFAULT_START_TIMEOUT
    max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES
    session: McpSession | None = None

    def check(self) -> None:
        """Raise UsageError for what cannot work, MissingExtraError when the SDK is not installed."""
        if find_spec("mcp") is None:
            raise MissingExtraError(f"component '{self.name}' of kind mcp", "mcp")
        if not is_component_name(self.name):
            raise UsageError(f"'{self.name}' cannot be the name of a component; expected {NAME_RULE}")
        check_fields(f"MCP server '{self.name}'", self)
        if bool(self.command) == bool(self.url):
            given = "both" if self.command else "neither"
            raise UsageError(
                f"MCP server '{self.name}' has {given} of `command` and `url`; give one: a program, or an address"
            )
        parts = split_address(self.url, f"`url` of MCP server '{self.name}'")
        if self.url and (parts.scheme not in ("http", "https") or not parts.hostname):
            raise UsageError(
                f"MCP server '{self.name}' has url '{self.url}'; expected one that begins with http:// or https://"
            )
        self._check_without_effect()
        self._check_numbers()

    def _check_without_effect(self) -> None:
        misplaced = ("env", "cwd") if self.url else ("headers",)
        for option in misplaced:
            if getattr(self, option):
                other = "command" if self.url else "url"
                raise UsageError(f"MCP server '{self.name}': `{option}` has no effect without `{other}`; remove it")
        if self.url and self.processes != 1:
            raise UsageError(f"MCP server '{self.name}': `processes` has no effect on a `url`; remove it")

    def _check_numbers(self) -> None:
        for option in ("processes", "concurrency", "max_message_bytes"):
            value = getattr(self, option)
            if value is not None and value < 1:
                raise UsageError(f"MCP server '{self.name}': {option} is {value}; expected 1 or more")
        if self.start_timeout <= timedelta(0):
            raise UsageError(f"MCP server '{self.name}': start_timeout is {self.start_timeout}; expected more than 0")

    def digest(self) -> Digest:
        """Of what decides which server is asked and how it is treated; not of secrets and folders, which differ from
        machine to machine and mean the same."""
        return digest_of(declared(self, but=_INDIFFERENT))


def as_command(command: str | Sequence[str]) -> tuple[str, ...]:
    """A command as its words; text is one program without arguments, never a line for a shell."""
    return (command,) if isinstance(command, str) else as_tuple("`command`", command)
