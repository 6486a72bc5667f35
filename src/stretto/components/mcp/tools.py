"""What is known about a server's tools: what the user declared, refined by what the server says of itself."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from stretto.types.card import ANY_ACTION
from stretto.types.enums import Effect
from stretto.types.json import JsonObject

IDEMPOTENT: Final = "stretto/idempotent"
"""Key in ``_meta`` of a tool: true where calls with one effect key happen once. The protocol's own hint says more: that
calls with the same arguments do."""


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """One tool as its server lists it."""

    name: str
    input: JsonObject
    """JSON Schema of its arguments."""
    output: JsonObject | None = None
    """JSON Schema of its structured content, when the server promises one."""
    description: str = ""
    reads_only: bool | None = None
    """The server's ``readOnlyHint``; None when it says nothing."""
    idempotent: bool = False
    """The server's ``idempotentHint``, or what a server of ours says of calls with one effect key."""


class ToolBelt(msgspec.Struct, frozen=True, kw_only=True):
    """Which tools may be called, and what each does to the world."""

    allowed: tuple[str, ...] | None
    """Declared names; None is every tool that the server lists."""
    hidden: str
    """Tool that only the session may call: its reset; empty when there is none."""
    effects: Mapping[str, Effect]
    """Declared effects; they outweigh the server's hints."""
    listed: Mapping[str, Tool] | None = None
    """What the server lists; None before it was asked."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """Every tool that may be called; None while nobody knows."""
        if self.allowed is not None:
            return self.allowed
        if self.listed is None:
            return None
        return tuple(name for name in self.listed if name != self.hidden)

    def effect_of(self, tool: str) -> Effect:
        """What a tool does. One that nobody describes is taken to write: the others can then only be safer."""
        declared = self.effects.get(tool)
        if declared is not None:
            return declared
        listed = self.listed.get(tool) if self.listed else None
        if listed is not None and listed.reads_only is not None:
            return Effect.READ if listed.reads_only else Effect.WRITE
        return self.effects.get(ANY_ACTION, Effect.WRITE)

    def effects_by_action(self) -> dict[str, Effect]:
        """For the card: each known tool, and ``*`` for the rest."""
        known = {name: self.effect_of(name) for name in (self.names or ())}
        return {**known, **self.effects, ANY_ACTION: self.effects.get(ANY_ACTION, Effect.WRITE)}

    def unknown(self, names: Sequence[str]) -> list[str]:
        """Those of the names that the server does not list; empty before it was asked."""
        return [] if self.listed is None else [name for name in names if name not in self.listed]

    def schema_of(self, tool: str, without: str) -> JsonObject:
        """The tool's input schema as a planner sees it: without the argument that the session supplies."""
        listed = self.listed.get(tool) if self.listed else None
        if listed is None:
            return {"type": "object"}
        return _without_property(listed.input, without) if without else listed.input

    def takes(self, tool: str, argument: str) -> bool:
        """Whether a tool declares an argument; True before the server was asked."""
        listed = self.listed.get(tool) if self.listed else None
        if listed is None:
            return True
        properties = listed.input.get("properties")
        return isinstance(properties, dict) and argument in properties


def _without_property(schema: JsonObject, name: str) -> JsonObject:
    properties, required = schema.get("properties"), schema.get("required")
    reduced = dict(schema)
    if isinstance(properties, dict):
        reduced["properties"] = {key: value for key, value in properties.items() if key != name}
    if isinstance(required, list):
        reduced["required"] = [key for key in required if key != name]
    return reduced
