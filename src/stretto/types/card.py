"""A component's card: what it is and what it promises, without running it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import msgspec

from stretto.types.enums import Effect, Scope
from stretto.types.ids import Digest
from stretto.types.json import JsonObject, Schema

ANY_OBJECT: Schema = {"type": "object"}

ANY_ACTION = "*"
"""Key in `Card.effects` for every action that has no entry of its own."""

CHOOSES: Final = "actions"
"""Capability of a component that makes choices to be learnt from: its answers carry them."""


class Real(StrEnum):
    """Numbers that a gradient passes, by safetensors' names."""

    F32 = "F32"
    F64 = "F64"


class Tensor(msgspec.Struct, frozen=True, kw_only=True):
    """A field of the input or output that is a tensor: in JSON a number, or lists of numbers of its shape."""

    name: str
    shape: tuple[int, ...] = ()
    """Of one call, with no dimension for a batch; empty for a number."""
    dtype: Real = Real.F32


class Tensors(msgspec.Struct, frozen=True, kw_only=True):
    """What of a component can be differentiated, with respect to what."""

    inputs: tuple[Tensor, ...] = ()
    outputs: tuple[Tensor, ...] = ()

    @property
    def carry(self) -> bool:
        """Whether a gradient passes at all."""
        return bool(self.inputs and self.outputs)


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """Name, version, schemas and effects of a component."""

    name: str
    version: str
    kind: str
    """``python``, ``mcp``, ``memory``, ``reward``, ``openai``, ..."""
    digest: Digest
    """Of everything that decides its behaviour: code, configuration, weights."""
    input: Schema = msgspec.field(default_factory=lambda: ANY_OBJECT)
    output: Schema = msgspec.field(default_factory=lambda: ANY_OBJECT)
    effects: Mapping[str, Effect] = msgspec.field(default_factory=lambda: {ANY_ACTION: Effect.READ})
    """Effect per action; ``*`` is every other action."""
    action_field: str = ""
    """Input field that names the action; empty when there is one action only."""
    idempotent: bool = False
    """A write sent twice with the same effect key happens once."""
    confirms: bool = False
    """It can be asked whether a write in doubt happened (see `Confirms`)."""
    scope: Scope = Scope.PROCESS
    trainable: bool = False
    capabilities: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    """Components that it is known to call; a workflow that lacks one does not load."""
    description: str = ""
    tensors: Tensors | None = None
    """Of a component that pulls gradients back (see `Differentiates`); None where it does not say which."""

    def action_of(self, request_input: JsonObject) -> str:
        """The action that a request asks for; empty when the card names none."""
        if not self.action_field:
            return ""
        named = request_input.get(self.action_field)
        return named if isinstance(named, str) else ""

    def effect_of(self, action: str) -> Effect:
        """What an action does to the world; an action that the card does not know counts as a write."""
        return self.effects.get(action) or self.effects.get(ANY_ACTION) or Effect.WRITE
