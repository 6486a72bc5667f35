"""Tools that a model may ask for, in the form of the OpenAI API reference, "Create chat completion", `tools`."""

from collections.abc import Sequence
from typing import Final

from stretto.spec.suggest import nearest
from stretto.types.errors import UsageError
from stretto.types.json import Json

CHOICES: Final = ("auto", "none", "required")
"""What `tool_choice` may be beside the name of a tool."""

_EXPECTED: Final = "{type: function, function: {name: ..., description: ..., parameters: {...}}}"


def check_tools(tools: Json | Sequence[Json], what: str) -> list[str]:
    """The names of the tools, in order. Raises UsageError for one that is not of the API's form."""
    names: list[str] = []
    for tool in tools if isinstance(tools, Sequence) else ():
        function = tool.get("function") if isinstance(tool, dict) and tool.get("type") == "function" else None
        name = function.get("name") if isinstance(function, dict) else None
        if not isinstance(name, str) or not name:
            raise UsageError(f"{what}: `tools` holds {tool!r}; expected {_EXPECTED}")
        if name in names:
            raise UsageError(f"{what}: `tools` holds '{name}' twice; name each tool once")
        names.append(name)
    return names


def choice_of(choice: str, tools: Sequence[str], what: str) -> Json:
    """`tool_choice` as it is sent: a word, or the one tool that must be called. Raises UsageError for other names."""
    if not tools:
        raise UsageError(f"{what}: `tool_choice` has no effect without `tools`; remove it, or give tools")
    if choice in CHOICES:
        return choice
    if choice not in tools:
        near = nearest(choice, [*tools, *CHOICES])
        raise UsageError(
            f"{what}: `tool_choice` is '{choice}'; "
            + (f"did you mean '{near}'?" if near else f"expected auto, none, required or one of {list(tools)}")
        )
    return {"type": "function", "function": {"name": choice}}
