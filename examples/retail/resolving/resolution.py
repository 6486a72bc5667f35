"""What resolving a tool's arguments gives."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TypeAlias

from facts import Facts
from words.brief import Brief

from stretto.types.json import Json, JsonObject


class Basis(StrEnum):
    """On what ground arguments were resolved."""

    STATED = "stated"
    """The customer asks for just this, or it must be known to do what they ask."""
    GUESSED = "guessed"
    """It can be called, but nothing that the customer asks for calls for it."""


Resolver: TypeAlias = Callable[[Brief, Facts], JsonObject]
"""From words and facts to ``{"arguments": {...}, "basis": ...}``, or ``{"missing": reason}``. Pure."""


def call(arguments: Mapping[str, Json], basis: Basis = Basis.STATED) -> JsonObject:
    """The tool can be called with these arguments."""
    return {"arguments": dict(arguments), "basis": basis}


def missing(reason: str) -> JsonObject:
    """The tool cannot be called now."""
    return {"missing": reason}


def tried(facts: Facts, tool: str, arguments: Mapping[str, Json]) -> bool:
    """Whether this very call was made before, with success or without."""
    return {"tool": tool, "arguments": arguments} in (*facts["done"], *facts["failed"])
