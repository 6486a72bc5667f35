"""The inputs of good requests: another one that fits, and how one is written."""

import base64
import uuid
from collections.abc import Iterator
from typing import assert_never

import orjson

from stretto.acp.blob import KEY, name_of
from stretto.acp.kit.case import Exchange, Form, Named
from stretto.acp.messages import WireCard
from stretto.plan.check import Check
from stretto.types.card import ANY_OBJECT
from stretto.types.json import Json, JsonObject


def another_than(given: JsonObject, card: WireCard) -> JsonObject | None:
    """An input of the same action with one field changed; None where none is found that fits the card's schema."""
    check = Check(card.input or ANY_OBJECT)
    properties = card.input.get("properties")
    for name, value in (*given.items(), ("kit", None)):
        if name == card.action_field:
            continue
        declared = properties.get(name) if isinstance(properties, dict) else None
        for changed in (*_listed(declared), *_changes(value)):
            candidate: JsonObject = {**given, name: changed}
            if candidate != given and not check.violations(candidate):
                return candidate
    return None


def _listed(declared: Json) -> list[Json]:
    found = declared.get("enum") if isinstance(declared, dict) else None
    return found if isinstance(found, list) else []


def _changes(value: Json) -> Iterator[Json]:
    match value:
        case bool():
            yield not value
        case int() | float():
            yield from (value + 1, value - 1)
        case str():
            yield from (f"{value}x", value[:-1])
        case list():
            yield from (value * 2, value[:-1])
        case dict():
            yield {**value, "kit": 1}
        case None:
            yield from ("x", 1)


def asked_with(given: JsonObject, another: JsonObject, exchange: Exchange) -> JsonObject:
    """What of a request says what is asked, as an exchange has it."""
    asked = (another if exchange.another else given) if exchange.input else {}
    named = {} if exchange.blob is None else _named(asked, exchange.blob)
    if exchange.input_as is Form.TEXT:
        return {"inputJson": orjson.dumps(asked).decode()}
    return {"input": asked, **named}


def _named(asked: JsonObject, how: Named) -> JsonObject:
    """The input with its first field named by its content, and what comes along of that."""
    field, value = next(iter(asked.items()))
    content = orjson.dumps(value)
    match how:
        case Named.SENT:
            name, sent = name_of(content), content
        case Named.WRONG:
            name, sent = name_of(content + b" "), content
        case Named.UNKNOWN:
            name, sent = name_of(uuid.uuid4().bytes), b""
        case _:
            assert_never(how)
    blob: JsonObject = {"digest": name, "mediaType": "application/json"}
    if sent:
        blob["content"] = base64.b64encode(sent).decode()
    return {"input": {**asked, field: {KEY: name}}, "blobs": [blob]}
