"""What goes wrong between a step and a server, in words."""

from collections.abc import Iterable

from stretto.spec.suggest import nearest
from stretto.types.errors import Code, ComponentError, InDoubtError


class ServerLostError(Exception):
    """The server went away while it worked on a request; nobody knows how far it came. The text says how it ended."""


class UnreadableMessageError(Exception):
    """A server sent what was meant as a message and is none. The text shows how it began."""


def lost(server: str, tool: str, how: str, *, in_doubt: bool) -> ComponentError:
    """The error of a call whose answer cannot come any more: a write that may have happened is in doubt."""
    text = f"MCP server '{server}' was lost while it worked on '{tool}': {how}"
    return InDoubtError(text) if in_doubt else ComponentError(text, Code.UNAVAILABLE)


def unknown_tool(server: str, tool: str, names: Iterable[str]) -> ComponentError:
    """The error of a call to a tool that is not offered; nothing was sent."""
    names = list(names)
    near = nearest(tool, names)
    hint = f"did you mean '{near}'?" if near else f"it has {', '.join(names) or 'no tools'}"
    return ComponentError(f"MCP server '{server}' has no tool '{tool}'; {hint}", Code.NOT_FOUND, sent=False)


def supplied_argument(server: str, tool: str, argument: str) -> ComponentError:
    """The error of a request that carries what only the session may give; nothing was sent."""
    return ComponentError(
        f"the arguments of '{tool}' hold '{argument}', which the session of '{server}' supplies; leave it out",
        Code.INVALID_ARGUMENT,
        sent=False,
    )
