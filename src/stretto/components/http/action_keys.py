"""One thing that a service can be asked, as it is written."""

from typing import Any, Final

import msgspec

from stretto.components.http.action import Method
from stretto.components.http.request_keys import (
    BODIES,
    HEADERS,
    METHOD,
    QUERY,
    URL,
    SoapSpec,
)
from stretto.components.http.response_keys import (
    ERRORS,
    PAGING,
    RESPONSE,
    ErrorSpec,
    PagingSpec,
    ResponseSpec,
)
from stretto.spec.codes import SpecCode
from stretto.spec.fields import SchemaShape
from stretto.spec.nodes import MapNode, Node, to_json_object
from stretto.spec.records import Fields, Key, Record
from stretto.spec.shapes import Choice
from stretto.spec.source import Located, Span
from stretto.types.enums import Effect
from stretto.types.errors import Problem
from stretto.types.json import JsonObject

INPUT: Final = Key(
    "input",
    SchemaShape(),
    means="what comes in, as in a contract; when absent, the fields that `url` has a place for, and any others",
    example='input: { order_id: "string[1,32]", detail: "bool?" }',
)
OUTPUT: Final = Key(
    "output",
    SchemaShape(),
    means="what goes out, as in a contract",
    example="output: { state: string, total: float }",
)
EFFECTS: Final = Key(
    "effects",
    Choice(Effect),
    means="what it does to the world: `read` for GET and HEAD, `write` for the others when absent",
    example="effects: read",
    also=("effect",),
)

ACTION_KEYS: Final[tuple[Key[Any], ...]] = (
    URL,
    METHOD,
    QUERY,
    HEADERS,
    *BODIES,
    INPUT,
    OUTPUT,
    RESPONSE,
    ERRORS,
    PAGING,
    EFFECTS,
)


class ActionSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was written of it; expressions are still text."""

    places: dict[str, Span]
    """Where each of its keys stands."""
    url: Located[str]
    method: Method
    query: MapNode | None
    headers: MapNode | None
    json: Node | None
    form: MapNode | None
    xml: Located[str] | None
    soap: SoapSpec | None
    input: JsonObject | None
    output: JsonObject | None
    response: ResponseSpec
    errors: tuple[ErrorSpec, ...]
    paging: PagingSpec | None
    effect: Effect | None
    written: JsonObject
    """All of it as plain values, for the digest."""

    def problem(self, key: str, code: SpecCode, message: str, *, expected: str, suggestion: str = "") -> Problem:
        """A problem at one of its keys, or at its address."""
        place = self.places.get(key, self.places[URL.name])
        return place.problem(code, message, expected=expected, suggestion=suggestion)

    @property
    def bodies(self) -> list[str]:
        """Which kinds of body are given."""
        return [key.name for key in BODIES if getattr(self, key.name) is not None]


def action_spec(fields: Fields) -> ActionSpec | None:
    """Read one; None after reporting that something it needs is not there."""
    url, method, schema, output = fields.get(URL), fields.get(METHOD), fields.get(INPUT), fields.get(OUTPUT)
    response, errors = fields.get(RESPONSE), fields.get(ERRORS)
    bodies: dict[str, Any] = {key.name: fields.get(key) for key in BODIES}
    headers, query = fields.get(HEADERS), fields.get(QUERY)
    paging, effect = fields.get(PAGING), fields.get(EFFECTS)
    needed: tuple[Key[Any], ...] = (RESPONSE, ERRORS, PAGING, *BODIES)
    if url is None or any(key in fields and fields.get(key) is None for key in needed):
        return None
    has_body = any(value is not None for value in bodies.values())
    return ActionSpec(
        places={key.name: fields.key_span(key) for key in ACTION_KEYS if key in fields},
        url=url,
        method=method or (Method.POST if has_body else Method.GET),
        query=query,
        headers=headers,
        **bodies,
        input=None if schema is None else dict(schema.schema),
        output=None if output is None else dict(output.schema),
        response=response or ResponseSpec(),
        errors=errors or (),
        paging=paging,
        effect=effect,
        written=_written(fields.node),
    )


def _written(node: MapNode) -> JsonObject:
    known = {key.name for key in ACTION_KEYS}
    return {name: value for name, value in to_json_object(node).items() if name in known}


def _needed(key: Key[Any]) -> Key[Any]:
    """The same key, where nothing else can stand in its place."""
    return Key(key.name, key.shape, means=key.means, example=key.example, required=True, also=key.also)


ACTION: Final[Record[ActionSpec]] = Record(
    "action",
    means="One thing that a service can be asked.",
    keys=tuple(_needed(key) if key is URL else key for key in ACTION_KEYS),
    build=action_spec,
    may_be_empty=False,
)
