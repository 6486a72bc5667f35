"""Answers that do not arrive as they were given: each function takes what was sent and gives what arrives.

None says that there was nothing to damage: the answer has no such field. Bytes that are no JSON any more raise what
the kinds that speak over a wire raise for such a body. Components in this process have no wire; they are damaged at
the same boundary, so that a workflow can be tried before its components move elsewhere.
"""

import random
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

from stretto.chaos.domains import FieldDomains
from stretto.chaos.wrong_values import put, sites
from stretto.record.canonical import snapshot
from stretto.spec.chaos_model import FaultKind
from stretto.types.card import Card
from stretto.types.errors import Code, ComponentError
from stretto.types.json import Json, JsonObject
from stretto.types.messages import Response

Damage = Callable[[Response, Card, str | None, FieldDomains, random.Random], Json | None]
"""Takes the answer, its component's card, the field that is meant, the domains of the step, and chance."""

_OTHERS: Final[Mapping[type, Json]] = {
    str: 7, int: "seven", float: "seven", bool: "perhaps", list: {"0": None}, dict: [], type(None): [None]
}  # fmt: skip
"""A value of another type for each."""


def truncated_body(
    response: Response, card: Card, _field: str | None, _domains: FieldDomains, chance: random.Random
) -> Json:
    """The connection closes inside the body. The component did its work; the caller cannot read the answer."""
    body = snapshot(response.output)
    return _read(body[: chance.randrange(len(body))], card, Code.UNAVAILABLE, "its answer broke off")


def garbage(response: Response, card: Card, _field: str | None, _domains: FieldDomains, chance: random.Random) -> Json:
    """A part of the body arrives as other bytes. The component did its work; the caller cannot read the answer."""
    body = bytearray(snapshot(response.output))
    first = chance.randrange(len(body))
    for place in {0, *range(first, min(first + 8, len(body)))}:
        body[place] = chance.randrange(0x80, 0x100)
    return _read(bytes(body), card, Code.INTERNAL, "its answer is garbage")


def wrong_type(
    response: Response, _card: Card, field: str | None, _domains: FieldDomains, chance: random.Random
) -> Json | None:
    """A field has another type: a text for a number, a list for an object."""
    output = _plain(response)
    name = _chosen(output, field, chance)
    return None if name is None else {**output, name: _OTHERS[type(output[name])]}


def missing_field(
    response: Response, _card: Card, field: str | None, _domains: FieldDomains, chance: random.Random
) -> Json | None:
    """A field is not there."""
    output = _plain(response)
    name = _chosen(output, field, chance)
    return None if name is None else {key: value for key, value in output.items() if key != name}


def wrong_value(
    response: Response, card: Card, field: str | None, domains: FieldDomains, chance: random.Random
) -> Json | None:
    """A field has another value: of its domain or another, of its enum or range. It fits every schema, and it is not
    what was meant."""
    output = _plain(response)
    found = sites(output, card.output, domains, field)
    if not found:
        return None
    site = chance.choice(found)
    return put(output, site, chance.choice(site.others))


DAMAGES: Final[Mapping[FaultKind, Damage]] = {
    FaultKind.TRUNCATED_BODY: truncated_body,
    FaultKind.GARBAGE: garbage,
    FaultKind.WRONG_TYPE: wrong_type,
    FaultKind.MISSING_FIELD: missing_field,
    FaultKind.WRONG_VALUE: wrong_value,
}


def _read(body: bytes, card: Card, code: Code, what: str) -> Json:
    try:
        value: Json = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise ComponentError(f"component '{card.name}' cannot be read: {what}: {error}", code) from error
    return value


def _plain(response: Response) -> JsonObject:
    value: Any = orjson.loads(snapshot(response.output))  # Any: JSON
    return value if isinstance(value, dict) else {}


def _chosen(output: JsonObject, field: str | None, chance: random.Random) -> str | None:
    """The field that is meant, or any; None when it is not there."""
    if field is not None:
        return field if field in output else None
    return chance.choice(sorted(output)) if output else None
