"""Prompts with holes: ``Ticket: {text}``, each hole filled by the field of its name."""

import re
from typing import Final, TypeAlias

import msgspec

from stretto.types.errors import UsageError

_TOKEN: Final = re.compile(r"\{\{|\}\}|\{[^{}]*\}|[{}]")


class Hole(msgspec.Struct, frozen=True):
    """Where a field stands."""

    field: str


TemplatePart: TypeAlias = str | Hole


def read_template(text: str) -> tuple[TemplatePart, ...]:
    """Texts and holes in their order; ``{{`` and ``}}`` stand for braces.

    Raises UsageError for a brace that belongs to no hole, and for a hole without the name of a field.
    """
    parts: list[TemplatePart] = []
    plain, at = "", 0
    for found in _TOKEN.finditer(text):
        plain, at, token = plain + text[at : found.start()], found.end(), found[0]
        if token in ("{{", "}}"):
            plain += token[0]
            continue
        field = token[1:-1].strip()
        if not (len(token) > 1 and field.isidentifier()):
            raise UsageError(
                f"`prompt` has {token!r} at character {found.start() + 1}, which names no field; expected {{field}}, "
                "or {{ and }} for braces of the text"
            )
        parts += [plain, Hole(field)] if plain else [Hole(field)]
        plain = ""
    plain += text[at:]
    return (*parts, plain) if plain else tuple(parts)


def fields_of(parts: tuple[TemplatePart, ...]) -> tuple[str, ...]:
    """The fields that stand in holes, each once."""
    return tuple(dict.fromkeys(part.field for part in parts if isinstance(part, Hole)))
